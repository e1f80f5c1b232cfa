-- The same as insert_plain for a single job: to unpack one row of JSON takes longer than to insert it.
insert into entry (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
values (:id, :shard, :lane, 'ready', 0, 0, 0, :now, :now, :now, :payload)
on conflict (id) do nothing
