-- The common case, many at once: jobs that are ready now and carry nothing but their arguments.
insert into job (
    id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload
)
select r.id, :shard, r.lane, 'ready', 0, 0, 0, now(), now(), now(), r.payload
from unnest(
    :ids::uuid[], :lanes::bigint[], :payloads::text[]
) as r(id, lane, payload)
