-- Jumps from lane to lane along the index of waiting jobs: the cost is that of the lanes, not of the jobs.
with recursive waiting (lane) as (
    select min(lane) from entry indexed by job_due_lane where shard = :shard and aside in ('scheduled', 'retrying')
    union all
    select (
        select min(lane) from entry indexed by job_due_lane
        where shard = :shard and aside in ('scheduled', 'retrying') and lane > waiting.lane
    )
    from waiting
    where waiting.lane is not null
)
select lane, since
from (
    select
        waiting.lane,
        (
            select min(run_at) from entry indexed by job_due_lane
            where shard = :shard and aside in ('scheduled', 'retrying') and lane = waiting.lane
        ) as since
    from waiting
    where waiting.lane is not null
)
where since <= :now
