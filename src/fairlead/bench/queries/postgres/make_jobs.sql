-- Ids that sort by number, as UUIDv7 of one client do; each job goes to the next lane.
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select
    (lpad(to_hex(:millis::bigint), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid,
    0, lane_list.id, 'ready', 0, 0, 0, now(), now() + number * interval '1 us' - interval '2 s', now(), :payload
from generate_series(:first::bigint, :last::bigint) as number
join lane_list on lane_list.position = number % :lanes::bigint
