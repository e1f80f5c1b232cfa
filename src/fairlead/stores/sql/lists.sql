-- name: read_many
select
    job.id::text, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, date_part('epoch', job.created_at), date_part('epoch', job.run_at),
    date_part('epoch', job.not_after), date_part('epoch', job.started_at), null::float8, job.owner::text, null::text,
    job.error_type, job.error_message, job.unique_key, job.options, job.parent::text,
    null::text, job.replays, job.failure, lane.limits,
    progress.done, progress.total, progress.message, date_part('epoch', progress.at)
from job join lane on lane.id = job.lane
left join progress on progress.job_id = job.id and progress.shard = job.shard and progress.fence = job.fence
where job.shard = :shard
    and job.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
union all
select
    job.id::text, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, date_part('epoch', job.created_at), date_part('epoch', job.run_at),
    date_part('epoch', job.not_after), date_part('epoch', job.started_at), date_part('epoch', job.finished_at),
    job.owner::text, job.result, job.error_type, job.error_message, job.unique_key, job.options, job.parent::text,
    job.fingerprint, job.replays, job.failure, lane.limits,
    progress.done, progress.total, progress.message, date_part('epoch', progress.at)
from job_history as job join lane on lane.id = job.lane
left join progress on progress.job_id = job.id and progress.shard = job.shard and progress.fence = job.fence
where job.shard = :shard
    and job.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))

-- name: list_dead
-- The state is written out, so that the partial indexes of dead jobs serve.
select
    job.id::text, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, date_part('epoch', job.created_at), date_part('epoch', job.run_at),
    date_part('epoch', job.not_after), date_part('epoch', job.started_at), date_part('epoch', job.finished_at),
    job.owner::text, job.result, job.error_type, job.error_message, job.unique_key, job.options, job.parent::text,
    job.fingerprint, job.replays, job.failure, lane.limits
from job_history as job join lane on lane.id = job.lane
where job.shard = :shard and job.state = 'dead'
    and (:cursor::uuid is null or job.id < :cursor::uuid)
    and (:key::text is null or job.unique_key = :key)
    and (:type::text is null or lane.type = :type)
    and (:tenant::text is null or lane.tenant = :tenant)
    and (:pool::text is null or lane.pool = :pool)
    and (:priority::smallint is null or lane.priority = :priority)
    and (:error_type::text is null or job.error_type = :error_type)
    and (:fingerprint::text is null or job.fingerprint = :fingerprint)
    and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
    and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
order by job.id desc
limit :limit

-- name: find_live
select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from job join lane on lane.id = job.lane
where job.shard = :shard
    and (:cursor::uuid is null or job.id < :cursor::uuid)
    and (:states::json is null or job.state in (select json_array_elements_text(:states::json)))
    and (:key::text is null or job.unique_key = :key)
    and (:type::text is null or lane.type = :type)
    and (:tenant::text is null or lane.tenant = :tenant)
    and (:pool::text is null or lane.pool = :pool)
    and (:priority::smallint is null or lane.priority = :priority)
    and (:error_type::text is null or job.error_type = :error_type)
    and coalesce(:fingerprint::text, :finished_after::float8::text, :finished_before::float8::text) is null
order by job.id desc
limit :limit

-- name: count_live
select job.state, count(*)
from job join lane on lane.id = job.lane
where job.shard = :shard
    and (:states::json is null or job.state in (select json_array_elements_text(:states::json)))
    and (:key::text is null or job.unique_key = :key)
    and (:type::text is null or lane.type = :type)
    and (:tenant::text is null or lane.tenant = :tenant)
    and (:pool::text is null or lane.pool = :pool)
    and (:priority::smallint is null or lane.priority = :priority)
    and (:error_type::text is null or job.error_type = :error_type)
    and coalesce(:fingerprint::text, :finished_after::float8::text, :finished_before::float8::text) is null
group by job.state

-- name: read_attempts
select
    fence, attempt, owner::text, date_part('epoch', started_at), date_part('epoch', ended_at),
    ending, error_type, error_message, traceback, fingerprint, failure,
    date_part('epoch', due_at), date_part('epoch', ready_at)
from attempt
where job_id = :id::uuid and shard = :shard
order by fence

-- name: read_progress
select progress.job_id::text, progress.done, progress.total, progress.message, date_part('epoch', progress.at)
from json_to_recordset(:rows::json) as r(id uuid, fence bigint)
join progress on progress.job_id = r.id and progress.shard = :shard and progress.fence = r.fence
