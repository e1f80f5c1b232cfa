delete from schedule_fire where schedule = :name and shard = :shard
