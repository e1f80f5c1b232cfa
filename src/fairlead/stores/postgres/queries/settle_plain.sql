-- The most common case: jobs of one claim that succeeded without a result, all claimed as often. Nothing has to be
-- joined, and nothing is told but how many they were. The guard is written so that no index but the primary key can
-- serve it.
with gone as (
    delete from job
    where shard = :shard
        and id = any(:ids::uuid[])
        and (state, fence, owner, lease) is not distinct from ('running', :fence::bigint, :owner::uuid, :lease::uuid)
    returning
        id, shard, lane, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, parent, unique_key,
        options, replays, payload
)
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, replays, payload
)
select
    id, shard, lane, 'succeeded', attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, now(),
    parent, unique_key, options, replays, payload
from gone
