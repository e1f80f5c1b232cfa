insert into progress (job_id, shard, fence, done, total, message, at)
select job.id, job.shard, job.fence, r.value ->> 'done', r.value ->> 'total', r.value ->> 'message', :now
from json_each(:rows) as r
cross join entry as job
where job.id = r.value ->> 'id' and +job.fence = r.value ->> 'fence' and +job.shard = :shard
    and +job.state = 'running' and +job.claim = (
        select claim.id from claim where claim.owner = r.value ->> 'owner' and claim.lease = r.value ->> 'lease'
    )
on conflict (job_id, shard) do update
set fence = excluded.fence, done = excluded.done, total = excluded.total, message = excluded.message, at = excluded.at
where progress.fence <= excluded.fence
returning job_id
