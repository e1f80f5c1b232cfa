-- All live jobs are looked at, and the newest are taken: they may lie below any number of finished ones.
-- SQLite tests the state once for each part of `live`, and skips the part, only where that is no look into a list.
select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, claim.owner, claim.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from live
cross join entry as job on job.place = live.place
cross join lane on lane.id = job.lane
left join claim on claim.id = job.claim
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
