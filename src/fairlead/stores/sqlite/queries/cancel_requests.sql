select job.id, job.fence, job.cancel_by, job.cancel_reason, job.cancel_grace
from job
where job.shard = :shard and job.state = 'running' and job.owner = :owner and job.cancel_at is not null
