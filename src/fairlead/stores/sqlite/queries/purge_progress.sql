delete from progress where job_id = :id and shard = :shard
