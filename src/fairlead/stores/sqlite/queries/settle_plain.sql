-- The most common case: jobs of one claim that succeeded without a result, all claimed as often, by their places.
insert or replace into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, replays, payload
)
select
    id, shard, lane, 'succeeded', attempt, crashes, fence, :owner, run_at, not_after, created_at, started_at, :now,
    parent, unique_key, options, replays, payload
from job
where place in (select value from carray(:places))
    and +shard = :shard and +state = 'running' and +fence = :fence
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
