select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, claim.owner, claim.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from entry as job left join claim on claim.id = job.claim
where job.id = :id and job.shard = :shard and job.finished_at is null
