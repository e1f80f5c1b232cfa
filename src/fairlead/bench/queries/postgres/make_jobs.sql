-- Ids that sort by number, as UUIDv7 of one client do; each job goes to the next lane, and was ready when it was made.
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select
    (lpad(to_hex(:millis::bigint), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid,
    0, lane_list.id, 'ready', 0, 0, 0, moment, moment, moment, :payload
from generate_series(:first::bigint, :last::bigint) as number
cross join lateral (select now() + number * interval '1 us' - interval '2 s' as moment) as made
join lane_list on lane_list.position = number % :lanes::bigint
