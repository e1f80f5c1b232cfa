-- Jumps from lane to lane, as active_lanes does, and counts along the index in each.
with recursive active as (
    (
        select lane, ready_at from job
        where shard = :shard and state = 'ready'
        order by lane, ready_at limit 1
    )
    union all
    select following.lane, following.ready_at
    from active
    cross join lateral (
        select lane, ready_at from job
        where shard = :shard and state = 'ready' and lane > active.lane
        order by lane, ready_at limit 1
    ) as following
)
select active.lane, date_part('epoch', active.ready_at), counted.depth
from active
cross join lateral (
    select count(*) as depth
    from (select 1 from job where shard = :shard and state = 'ready' and lane = active.lane limit :most) as ready
) as counted
