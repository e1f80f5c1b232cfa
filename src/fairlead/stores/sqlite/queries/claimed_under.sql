select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, claim.owner, claim.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from claim cross join job on job.shard = :shard and job.claim = claim.id and job.state = 'running'
where claim.owner = :owner and claim.lease = :lease
