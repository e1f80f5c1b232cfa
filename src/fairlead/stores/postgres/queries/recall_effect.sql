select result from effect where job_id = :id::uuid and name = :effect and shard = :shard
