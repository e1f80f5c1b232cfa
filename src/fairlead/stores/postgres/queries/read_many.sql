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
