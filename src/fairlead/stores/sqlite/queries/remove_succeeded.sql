delete from job
where (id, fence) in (select r.value ->> 0, r.value ->> 1 from json_each(:rows) as r)
    and +shard = :shard and +state = 'running'
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
