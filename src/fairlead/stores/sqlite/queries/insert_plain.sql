-- The common case, many at once: jobs that are ready now and carry nothing but their arguments.
insert into entry (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select value ->> 0, :shard, value ->> 1, 'ready', 0, 0, 0, :now, :now, :now, value ->> 2
from json_each(:rows)
where true
on conflict (id) do nothing
