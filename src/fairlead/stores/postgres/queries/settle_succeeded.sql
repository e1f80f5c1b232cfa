-- The common case, many at once: jobs of one claim that succeeded. The guard is written so that no index but the
-- primary key can serve it.
with r as materialized (
    select * from unnest(:ids::uuid[], :fences::bigint[], :results::text[]) as r(id, fence, result)
),
gone as (
    delete from job
    where shard = :shard
        and id = any(:ids::uuid[])
        and (state, owner, lease) is not distinct from ('running', :owner::uuid, :lease::uuid)
        and ((id, fence) in (select id, fence from r)) is true
    returning *
)
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, replays, payload, result
)
select
    gone.id, gone.shard, gone.lane, 'succeeded', gone.attempt, gone.crashes, gone.fence, gone.owner, gone.run_at,
    gone.not_after, gone.created_at, gone.started_at, now(), gone.parent, gone.unique_key, gone.options, gone.replays,
    gone.payload, r.result
from r join gone on gone.id = r.id
