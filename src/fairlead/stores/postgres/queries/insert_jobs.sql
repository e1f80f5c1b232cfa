insert into job (
    id, shard, lane, state, attempt, crashes, fence,
    run_at, ready_at, not_after, created_at, parent, unique_key, options, payload
)
select
    r.id, :shard, r.lane, r.state, 0, 0, 0,
    coalesce(to_timestamp(r.run_at), now() + r.delay * interval '1 second'),
    case when r.state = 'ready' then now() end,
    to_timestamp(r.not_after), now(), r.parent, r.unique_key, r.options, r.payload
from json_to_recordset(:rows::json) as r(
    id uuid, lane bigint, state text, run_at float8, delay float8, not_after float8,
    parent uuid, unique_key text, options text, payload text
)
on conflict (id, shard) do nothing
