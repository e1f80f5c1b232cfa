update job
set cancel_at = coalesce(cancel_at, :now), cancel_by = :cancel_by, cancel_reason = :cancel_reason,
    cancel_grace = :cancel_grace
where id = :id and shard = :shard and state = :held_state and fence = :held_fence
    and owner is :held_owner and lease is :held_lease
returning id
