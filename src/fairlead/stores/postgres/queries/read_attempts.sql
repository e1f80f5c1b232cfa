select
    fence, attempt, owner::text, date_part('epoch', started_at), date_part('epoch', ended_at),
    ending, error_type, error_message, traceback, fingerprint, failure,
    date_part('epoch', due_at), date_part('epoch', ready_at)
from attempt
where job_id = :id::uuid and shard = :shard
order by fence
