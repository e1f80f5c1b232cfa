select
    id, lane, attempt, crashes, :now - created_at,
    state, fence, owner, lease,
    cancel_by, cancel_reason, cancel_grace, options
from running
where owner = :owner and lease = :lease and shard = :shard
