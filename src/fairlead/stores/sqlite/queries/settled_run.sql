-- The same as settled_plain for jobs that lie side by side.
select coalesce(json_group_array(id), '[]')
from entry
where place between :first and :last
    and +shard = :shard and +state = 'succeeded' and +fence = :fence and owner = :owner and +finished_at = :now
