insert into progress (job_id, shard, fence, done, total, message, at)
select job.id, job.shard, job.fence, :done, :total, :message, :now
from job
where job.id = :id and job.shard = :shard and job.state = 'running' and job.fence = :fence
    and job.owner = :owner and job.lease = :lease
on conflict (job_id, shard) do update
set fence = excluded.fence, done = excluded.done, total = excluded.total, message = excluded.message, at = excluded.at
where progress.fence <= excluded.fence
returning job_id
