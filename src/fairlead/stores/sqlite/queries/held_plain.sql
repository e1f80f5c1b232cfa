-- Those of the jobs at these places whose claim still holds.
select coalesce(json_group_array(id), '[]')
from job
where place in (select value from carray(:places))
    and +shard = :shard and +state = 'running' and +fence = :fence
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
