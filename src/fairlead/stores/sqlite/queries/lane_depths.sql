-- Jumps from lane to lane, as active_lanes does, and counts along the index in each.
with recursive active (lane) as (
    select min(lane) from entry where state = 'ready'
    union all
    select (select min(lane) from entry where state = 'ready' and lane > active.lane)
    from active
    where active.lane is not null
)
select
    active.lane,
    (select min(ready_at) from entry where state = 'ready' and lane = active.lane),
    (
        select count(*)
        from (select 1 from entry where state = 'ready' and lane = active.lane limit :most)
    )
from active
where active.lane is not null
