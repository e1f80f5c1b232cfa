-- name: list_jobs
-- Newest first along each table's index of ids, each job with its lane, until the page is full.
select * from (
    select
        job.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
        job.attempt, job.crashes, job.fence, job.created_at, job.run_at, job.not_after, job.started_at, null,
        job.owner, null, job.error_type, job.error_message, job.unique_key, job.options, job.parent, null,
        job.replays, job.failure, lane.limits
    from job cross join lane on lane.id = job.lane
    where :live and job.shard = :shard
        and job.id < coalesce(:cursor, '~')
        and job.id >= coalesce(:floor, '')
        and (:states is null or job.state in (select value from json_each(:states)))
        and (:key is null or job.unique_key = :key)
        and (:containing is null or instr(job.unique_key, :containing) > 0)
        and (:type is null or lane.type = :type)
        and (:tenant is null or lane.tenant = :tenant)
        and (:pool is null or lane.pool = :pool)
        and (:priority is null or lane.priority = :priority)
        and (:error_type is null or job.error_type = :error_type)
        and coalesce(:fingerprint, :finished_after, :finished_before) is null
    order by job.id desc
    limit :limit
)
union all
select * from (
    select
        job.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
        job.attempt, job.crashes, job.fence, job.created_at, job.run_at, job.not_after, job.started_at, job.finished_at,
        job.owner, job.result, job.error_type, job.error_message, job.unique_key, job.options, job.parent, job.fingerprint,
        job.replays, job.failure, lane.limits
    from job_history as job cross join lane on lane.id = job.lane
    where :finished and job.shard = :shard
        and job.id < coalesce(:cursor, '~')
        and job.id >= coalesce(:floor, '')
        and (:states is null or job.state in (select value from json_each(:states)))
        and (:key is null or job.unique_key = :key)
        and (:containing is null or instr(job.unique_key, :containing) > 0)
        and (:type is null or lane.type = :type)
        and (:tenant is null or lane.tenant = :tenant)
        and (:pool is null or lane.pool = :pool)
        and (:priority is null or lane.priority = :priority)
        and (:error_type is null or job.error_type = :error_type)
        and (:fingerprint is null or job.fingerprint = :fingerprint)
        and (:finished_after is null or job.finished_at >= :finished_after)
        and (:finished_before is null or job.finished_at < :finished_before)
    order by job.id desc
    limit :limit
)
order by 1 desc
limit :limit

-- name: scan_floor
-- The id down to which a listing looks that no index helps: the last of as many live or finished jobs as it may look at.
-- None where there are fewer.
select max(id)
from (
    select * from (
        select id from job where shard = :shard and id < coalesce(:cursor, '~') order by id desc limit 1 offset :beyond
    )
    union all
    select * from (
        select id from job_history
        where shard = :shard and id < coalesce(:cursor, '~')
        order by id desc limit 1 offset :beyond
    )
)
having max(id) is not null

-- name: count_jobs
-- By state, each along its index: to group all live jobs at once would mean to sort them.
select lane.pool, counted.state, sum(counted.jobs)
from (
    select lane, 'ready' as state, count(*) as jobs from job where shard = :shard and state = 'ready' group by lane
    union all
    select lane, state, count(*) from job indexed by job_due_lane
    where shard = :shard and state in ('scheduled', 'retrying')
    group by lane, state
    union all
    select lane, state, count(*) from job indexed by job_elsewhere
    where shard = :shard and state in ('blocked', 'enqueued')
    group by lane, state
    union all
    select lane, 'running', count(*) from job where shard = :shard and state = 'running' group by lane
) as counted
join lane on lane.id = counted.lane
group by lane.pool, counted.state

-- name: count_waiting
-- By state, each along its index.
select lane, sum(ready), sum(jobs)
from (
    select lane, count(*) as ready, count(*) as jobs from job where shard = :shard and state = 'ready' group by lane
    union all
    select lane, 0, count(*) from job indexed by job_due_lane
    where shard = :shard and state in ('scheduled', 'retrying')
    group by lane
    union all
    select lane, 0, count(*) from job indexed by job_elsewhere
    where shard = :shard and state in ('blocked', 'enqueued')
    group by lane
)
group by lane

-- name: count_running
select lane, count(*) from job where shard = :shard and state = 'running' group by lane

-- name: holders
select id, lane, started_at, owner
from job
where shard = :shard and state = 'running' and lane in (select value from json_each(:lanes))
order by started_at, id
limit :most

-- name: count_waiting_of
-- How many jobs of a tenant wait; no more than a bound are looked at.
select count(*)
from (
    select 1
    from lane
    cross join job indexed by job_ready on job.shard = :shard and job.lane = lane.id and job.state = 'ready'
    where lane.tenant = :tenant
    union all
    select 1
    from lane
    cross join job indexed by job_due_lane
        on job.shard = :shard and job.lane = lane.id and job.state in ('scheduled', 'retrying')
    where lane.tenant = :tenant
    limit :most
)
