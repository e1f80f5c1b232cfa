delete from effect where job_id = :id and shard = :shard
