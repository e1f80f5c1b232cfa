select
    id, lane, attempt, crashes, :now - created_at, state, fence, null, null, cancel_by, cancel_reason, cancel_grace,
    options, :now - not_after
from entry
where shard = :shard and not_after is not null and finished_at is null and state <> 'running' and not_after < :now
order by not_after, id
limit :limit
