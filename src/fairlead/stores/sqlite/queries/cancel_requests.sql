select id, fence, cancel_by, cancel_reason, cancel_grace
from running
where owner = :owner and shard = :shard and cancel_at is not null
