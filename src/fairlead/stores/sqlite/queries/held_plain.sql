-- Those of the jobs at these places whose claim still holds.
select coalesce(json_group_array(id), '[]')
from job
where place in (select value from carray(:places))
    and +shard = :shard and +state = 'running' and +fence = :fence and +owner = :owner and lease = :lease
