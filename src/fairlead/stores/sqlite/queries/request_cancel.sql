update entry
set cancel_at = coalesce(cancel_at, :now), cancel_by = :cancel_by, cancel_reason = :cancel_reason,
    cancel_grace = :cancel_grace
where id = :id and shard = :shard and state = :held_state and fence = :held_fence
    and claim is (select claim.id from claim where claim.owner = :held_owner and claim.lease = :held_lease)
returning id
