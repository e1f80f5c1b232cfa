select job_id, done, total, message, at from progress where job_id = :id and shard = :shard and fence = :fence
