select fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback, fingerprint, failure,
    due_at, ready_at
from attempt
where job_id = :id and shard = :shard
order by fence, ended_at
