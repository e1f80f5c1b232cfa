-- name: list_jobs
-- Each page is found before its lanes are read, and the lanes that fit are looked up by their ids: on tables that were
-- filled within seconds the planner knows nothing of their sizes, and would otherwise pair every job with every lane.
(
select
    job.id::text, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, date_part('epoch', job.created_at), date_part('epoch', job.run_at),
    date_part('epoch', job.not_after), date_part('epoch', job.started_at), null::float8, job.owner::text, null::text,
    job.error_type, job.error_message, job.unique_key, job.options, job.parent::text,
    null::text, job.replays, job.failure, lane.limits
from (
    select *
    from job as job
    where :live::boolean and job.shard = :shard
        and (:cursor::uuid is null or job.id < :cursor::uuid)
        and (:states::json is null or job.state in (select json_array_elements_text(:states::json)))
        and (:key::text is null or job.unique_key = :key)
        and (:floor::uuid is null or job.id >= :floor::uuid)
        and (:containing::text is null or strpos(job.unique_key, :containing) > 0)
        and (coalesce(:type::text, :tenant::text, :pool::text, :priority::smallint::text) is null or job.lane in (
            select lane.id from lane
            where (:type::text is null or lane.type = :type)
                and (:tenant::text is null or lane.tenant = :tenant)
                and (:pool::text is null or lane.pool = :pool)
                and (:priority::smallint is null or lane.priority = :priority)
        ))
        and (:error_type::text is null or job.error_type = :error_type)
        and coalesce(:fingerprint::text, :finished_after::float8::text, :finished_before::float8::text) is null
    order by job.id desc
    limit :limit
) as job join lane on lane.id = job.lane
)
union all
(
select
    job.id::text, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, date_part('epoch', job.created_at), date_part('epoch', job.run_at),
    date_part('epoch', job.not_after), date_part('epoch', job.started_at), date_part('epoch', job.finished_at),
    job.owner::text, job.result, job.error_type, job.error_message, job.unique_key, job.options, job.parent::text,
    job.fingerprint, job.replays, job.failure, lane.limits
from (
    select *
    from job_history as job
    where :finished::boolean and job.shard = :shard
        and (:cursor::uuid is null or job.id < :cursor::uuid)
        and (:states::json is null or job.state in (select json_array_elements_text(:states::json)))
        and (:key::text is null or job.unique_key = :key)
        and (:floor::uuid is null or job.id >= :floor::uuid)
        and (:containing::text is null or strpos(job.unique_key, :containing) > 0)
        and (coalesce(:type::text, :tenant::text, :pool::text, :priority::smallint::text) is null or job.lane in (
            select lane.id from lane
            where (:type::text is null or lane.type = :type)
                and (:tenant::text is null or lane.tenant = :tenant)
                and (:pool::text is null or lane.pool = :pool)
                and (:priority::smallint is null or lane.priority = :priority)
        ))
        and (:error_type::text is null or job.error_type = :error_type)
        and (:fingerprint::text is null or job.fingerprint = :fingerprint)
        and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
        and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
    order by job.id desc
    limit :limit
) as job join lane on lane.id = job.lane
)
order by 1 desc
limit :limit

-- name: scan_floor
-- The id down to which a listing looks that no index helps: the last of as many live or
-- finished jobs as it may look at. None where there are fewer.
select floor.id::text
from (
    (
        select job.id from job
        where job.shard = :shard and (:cursor::uuid is null or job.id < :cursor::uuid)
        order by job.id desc
        offset :beyond limit 1
    )
    union all
    (
        select job.id from job_history as job
        where job.shard = :shard and (:cursor::uuid is null or job.id < :cursor::uuid)
        order by job.id desc
        offset :beyond limit 1
    )
) as floor
order by floor.id desc
limit 1

-- name: count_jobs
-- Counted by lane first, so that no job is joined with anything.
select lane.pool, counted.state, sum(counted.jobs)::bigint
from (select job.lane, job.state, count(*) as jobs from job group by job.lane, job.state) as counted
join lane on lane.id = counted.lane
group by lane.pool, counted.state

-- name: count_waiting
select lane, count(*) filter (where state = 'ready'), count(*)
from job
where shard = :shard and state <> 'running'
group by lane

-- name: count_running
-- Jumps from owner to owner along the index of running jobs, and counts each one's: the cost is that of what runs, not
-- of what waits, whatever the statistics say. `offset 0` keeps the planner from making a scan of all jobs of it.
with recursive owners as (
    (
        select owner from job
        where shard = :shard and state = 'running'
        order by owner limit 1
    )
    union all
    select following.owner
    from owners
    cross join lateral (
        select owner from job
        where shard = :shard and state = 'running' and owner > owners.owner
        order by owner limit 1
    ) as following
)
select running.lane, count(*)
from owners
cross join lateral (
    select lane from job
    where shard = :shard and state = 'running' and owner = owners.owner
    offset 0
) as running
group by running.lane

-- name: holders
-- From owner to owner along the index of running jobs, as count_running does: the cost is that of what runs.
with recursive owners as (
    (
        select owner from job
        where shard = :shard and state = 'running'
        order by owner limit 1
    )
    union all
    select following.owner
    from owners
    cross join lateral (
        select owner from job
        where shard = :shard and state = 'running' and owner > owners.owner
        order by owner limit 1
    ) as following
)
select running.id::text, running.lane, date_part('epoch', running.started_at), owners.owner::text
from owners
cross join lateral (
    select id, lane, started_at from job
    where shard = :shard and state = 'running' and owner = owners.owner
        and lane in (select json_array_elements_text(:lanes::json)::bigint)
    offset 0
) as running
order by running.started_at, running.id
limit :most

-- name: count_waiting_of
-- How many jobs of a tenant wait; no more than a bound are looked at.
select count(*)
from (
    select found.one
    from lane
    cross join lateral (
        select 1 as one from job
        where job.shard = :shard and job.lane = lane.id and job.state = 'ready'
        union all
        select 1 from job
        where job.shard = :shard and job.lane = lane.id and job.state in ('scheduled', 'retrying')
    ) as found
    where lane.tenant = :tenant
    limit :most
) as waiting
