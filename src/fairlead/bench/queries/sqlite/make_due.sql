-- Ids that sort by number, as UUIDv7 of one client do; all are due at the same instant.
with recursive numbers (number) as (
    select 1
    union all
    select number + 1 from numbers where number < :jobs
)
insert into entry (id, shard, lane, state, aside, attempt, crashes, fence, run_at, created_at, payload)
select
    printf('%08x-%04x-7000-8000-%012x', :millis >> 16, :millis & 65535, number),
    0, :lane, 'scheduled', 'scheduled', 0, 0, 0, :run_at, :run_at, :payload
from numbers
