-- The insert repeats the guard: beside the revival that holds, a batch may have a stale one of the same job.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(
        id uuid, held_state text, fence bigint, finished_at timestamptz, lane bigint, state text, payload text
    )
),
gone as (
    delete from job_history
    where shard = :shard
        and id = any(array(select id from r))
        and ((id, state, fence, finished_at) in (select id, held_state, fence, finished_at from r)) is true
    returning *
)
insert into job (
    id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, not_after, created_at, parent, unique_key,
    options, replays, payload
)
select
    gone.id, gone.shard, r.lane, r.state, 0, 0, gone.fence, gone.run_at, now(), gone.not_after, gone.created_at,
    gone.parent, gone.unique_key, gone.options, least(gone.replays + 1, 32767), coalesce(r.payload, gone.payload)
from r join gone on gone.id = r.id and gone.fence = r.fence and gone.finished_at = r.finished_at
returning id::text
