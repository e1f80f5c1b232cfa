-- Ids that sort by number, as UUIDv7 of one client do; all are due at the same instant.
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, created_at, payload)
select
    (lpad(to_hex(:millis::bigint), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid,
    0, :lane::bigint, 'scheduled', 0, 0, 0, to_timestamp(:run_at::float8), now(), :payload
from generate_series(1, :jobs::bigint) as number
