update entry
set lane = :lane, payload = :payload
where id = :id and shard = :shard and state = 'dead' and fence = :fence
    and abs(finished_at - :finished_at) < 0.000001
returning id
