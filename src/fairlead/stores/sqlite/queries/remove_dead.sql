delete from entry
where id = :id and shard = :shard and state = :held_state and fence = :fence
    and abs(finished_at - :finished_at) < 0.000001
returning id
