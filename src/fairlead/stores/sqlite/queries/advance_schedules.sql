update schedule
set version = :version + 1, handled_until = :handled_until, next_at = :next_at
where name = :name and version = :version and shard = :shard
