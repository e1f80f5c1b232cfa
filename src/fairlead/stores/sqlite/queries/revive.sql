-- A caller's instants have whole microseconds, the file's are a little finer.
insert into job (
    id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, not_after, created_at, parent, unique_key,
    options, replays, payload
)
select
    gone.id, gone.shard, :lane, :state, 0, 0, gone.fence, gone.run_at, :now, gone.not_after, gone.created_at,
    gone.parent, gone.unique_key, gone.options, min(gone.replays + 1, 32767), coalesce(:payload, gone.payload)
from job_history as gone
where gone.id = :id and gone.shard = :shard and gone.state = 'dead' and gone.fence = :fence
    and abs(gone.finished_at - :finished_at) < 0.000001
returning id
