select job.id, job.fence, coalesce(job.not_after < :now, false)
from entry as job
where job.id = :id and job.shard = :shard and job.state = 'dead' and job.fence = :fence
    and abs(job.finished_at - :finished_at) < 0.000001
