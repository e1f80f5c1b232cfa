-- The index of ready jobs begins with their lane. All jobs of a file have the same shard, and with it in front SQLite
-- compared it at each step of each search before anything that differs: its quick way to compare is for the first column.
drop view live;
drop index job_ready;
create index job_ready on entry (lane, ready_at) where state = 'ready';

create view live as
select place, 0 as shard, lane, 'ready' as state from entry indexed by job_ready where state = 'ready'
union all
select place, shard, lane, aside as state from entry indexed by job_due_lane where aside in ('scheduled', 'retrying')
union all
select place, shard, lane, aside as state from entry indexed by job_elsewhere where aside in ('blocked', 'enqueued')
union all
select place, shard, lane, 'running' as state from running;
