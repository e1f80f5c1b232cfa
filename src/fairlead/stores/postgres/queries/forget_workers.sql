-- A worker that has been gone for a day and owns nothing is of no use to anyone.
delete from worker
where lease_until < now() - interval '1 day'
    and not exists (select from job where job.shard = :shard and job.state = 'running' and job.owner = worker.id)
