-- Jumps from lane to lane along the index of waiting jobs: the cost is that of the lanes, not of the jobs.
with recursive waiting as (
    (
        select lane, run_at from job
        where shard = :shard and state in ('scheduled', 'retrying')
        order by lane, run_at limit 1
    )
    union all
    select following.lane, following.run_at
    from waiting
    cross join lateral (
        select lane, run_at from job
        where shard = :shard and state in ('scheduled', 'retrying') and lane > waiting.lane
        order by lane, run_at limit 1
    ) as following
)
select lane, date_part('epoch', run_at) from waiting where run_at <= now()
