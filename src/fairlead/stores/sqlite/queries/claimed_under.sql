select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, job.owner, job.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from job
where job.shard = :shard and job.state = 'running' and job.owner = :owner and job.lease = :lease
