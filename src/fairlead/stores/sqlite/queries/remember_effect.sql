-- What was remembered first stays.
insert into effect (job_id, shard, name, result, fence, remembered_at)
select job.id, job.shard, :effect, :result, job.fence, :now
from entry as job
where job.id = :id and job.shard = :shard and job.state = 'running' and job.fence = :fence
    and job.claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
on conflict (job_id, name, shard) do update set name = excluded.name
returning result
