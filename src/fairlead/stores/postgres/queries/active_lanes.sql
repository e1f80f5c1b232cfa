-- Jumps from lane to lane along the index of ready jobs: the cost is that of the active lanes, not of the jobs.
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
select lane, date_part('epoch', ready_at) from active
