select lane.pool, counted.state, sum(counted.jobs)
from (
    select lane, 'ready' as state, count(*) as jobs from job where shard = :shard and state = 'ready' group by lane
    union all
    select lane, state, count(*) from job indexed by job_due_lane
    where shard = :shard and state in ('scheduled', 'retrying')
    group by lane, state
    union all
    select lane, 'blocked', count(*) from job where shard = :shard and state = 'blocked' group by lane
    union all
    select lane, 'running', count(*) from running where shard = :shard group by lane
) as counted
join lane on lane.id = counted.lane
group by lane.pool, counted.state
