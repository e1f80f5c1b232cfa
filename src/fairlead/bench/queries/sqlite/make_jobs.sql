-- Ids that sort by number, as UUIDv7 of one client do; each job goes to the next lane, and was ready when it was made.
with recursive numbers (number) as (
    select :first
    union all
    select number + 1 from numbers where number < :last
)
insert into entry (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select
    printf('%08x-%04x-7000-8000-%012x', :millis >> 16, :millis & 65535, number),
    0, lane_list.id, 'ready', 0, 0, 0, :now + number * 1e-6 - 2.0, :now + number * 1e-6 - 2.0,
    :now + number * 1e-6 - 2.0, :payload
from numbers
join lane_list on lane_list.position = number % :lanes
