delete from attempt where job_id = :id and shard = :shard
