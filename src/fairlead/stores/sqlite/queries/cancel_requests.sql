select job.id, job.fence, job.cancel_by, job.cancel_reason, job.cancel_grace
from claim cross join job on job.shard = :shard and job.claim = claim.id and job.state = 'running'
where claim.owner = :owner and job.cancel_at is not null
