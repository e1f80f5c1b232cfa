insert into entry (
    id, shard, lane, state, aside, attempt, crashes, fence,
    run_at, ready_at, not_after, created_at, parent, unique_key, options, payload
)
values (
    :id, :shard, :lane, :state, nullif(:state, 'ready'), 0, 0, 0,
    coalesce(:run_at, :now + :delay), case when :state = 'ready' then :now end, :not_after, :now,
    :parent, :unique_key, :options, :payload
)
on conflict (id) do nothing
