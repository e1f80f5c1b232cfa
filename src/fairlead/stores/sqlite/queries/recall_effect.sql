select result from effect where job_id = :id and name = :effect and shard = :shard
