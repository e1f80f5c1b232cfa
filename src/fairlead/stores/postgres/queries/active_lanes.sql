-- Jumps from lane to lane along the index of ready jobs: the cost is that of the active lanes, not of the jobs. The given
-- lanes are jumped over: what was claimed of a busy one fills the index until it is vacuumed, and whoever knows that it
-- is busy need not read all that.
with recursive gaps as (
    select lane as low, lead(lane, 1, 9223372036854775807) over (order by lane) as high
    from (
        select -1::bigint
        union all
        select value::bigint from json_array_elements_text(:lanes::json) as given(value)
    ) as known(lane)
),
active as (
    select first.lane, first.ready_at, gaps.high
    from gaps
    cross join lateral (
        select lane, ready_at from job
        where shard = :shard and state = 'ready' and lane > gaps.low and lane < gaps.high
        order by lane, ready_at limit 1
    ) as first
    union all
    select following.lane, following.ready_at, active.high
    from active
    cross join lateral (
        select lane, ready_at from job
        where shard = :shard and state = 'ready' and lane > active.lane and lane < active.high
        order by lane, ready_at limit 1
    ) as following
)
select lane, date_part('epoch', ready_at) from active
