-- Cross join fixes the order: newest jobs first along the index of ids, each with its lane, until the batch is full.
select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, claim.owner, claim.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from entry as job indexed by job_id
cross join lane on lane.id = job.lane
left join claim on claim.id = job.claim
where job.shard = :shard
    and job.id < coalesce(:cursor, '~')
    and job.finished_at is null
    and (:states is null or job.state in (select value from json_each(:states)))
    and (:key is null or job.unique_key = :key)
    and (:type is null or lane.type = :type)
    and (:tenant is null or lane.tenant = :tenant)
    and (:pool is null or lane.pool = :pool)
    and (:priority is null or lane.priority = :priority)
    and (:error_type is null or job.error_type = :error_type)
    and coalesce(:fingerprint, :finished_after, :finished_before) is null
order by job.id desc
limit :limit
