-- All live jobs are looked at, and the newest are taken: they may lie below any number of finished ones.
-- SQLite tests the state once for each part of `live`, and skips the part, only where that is no look into a list.
select
    job.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, job.created_at, job.run_at, job.not_after, job.started_at, null,
    claim.owner, null, job.error_type, job.error_message, job.unique_key, job.options, job.parent,
    null, job.replays, job.failure, lane.limits
from (
    select job.place
    from live
    cross join entry as job on job.place = live.place
    cross join lane on lane.id = job.lane
    where live.shard = :shard
        and job.id < coalesce(:cursor, '~')
        and (:states is null or instr(:states, '"' || live.state || '"'))
        and (:key is null or job.unique_key = :key)
        and (:type is null or lane.type = :type)
        and (:tenant is null or lane.tenant = :tenant)
        and (:pool is null or lane.pool = :pool)
        and (:priority is null or lane.priority = :priority)
        and (:error_type is null or job.error_type = :error_type)
        and coalesce(:fingerprint, :finished_after, :finished_before) is null
    order by job.id desc
    limit :limit
) as newest
cross join entry as job on job.place = newest.place
cross join lane on lane.id = job.lane
left join claim on claim.id = job.claim
order by job.id desc
