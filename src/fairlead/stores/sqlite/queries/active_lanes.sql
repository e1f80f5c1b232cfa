-- Jumps from lane to lane along the index of ready jobs: the cost is that of the active lanes, not of the jobs. The
-- given lanes are left out.
with recursive active (lane) as (
    select min(lane) from entry where state = 'ready'
    union all
    select (select min(lane) from entry where state = 'ready' and lane > active.lane)
    from active
    where active.lane is not null
)
select
    active.lane,
    (select min(ready_at) from entry where state = 'ready' and lane = active.lane)
from active
where active.lane is not null and active.lane not in (select value from json_each(:lanes))
