-- Of these claims, those of which nothing runs any more.
delete from claim
where (owner, lease) in (select value ->> 0, value ->> 1 from json_each(:claims))
    and not exists (select 1 from job where job.shard = :shard and job.claim = claim.id and job.state = 'running')
