-- Those of the jobs at these places that the transaction has just ended under this owner.
select coalesce(json_group_array(id), '[]')
from entry
where place in (select value from carray(:places))
    and +shard = :shard and +state = 'succeeded' and +fence = :fence and owner = :owner and +finished_at = :now
