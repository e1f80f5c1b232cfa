-- By state, each along its index: to group all live jobs at once would mean to sort them.
select lane.pool, counted.state, sum(counted.jobs)
from (
    select lane, 'ready' as state, count(*) as jobs from entry where state = 'ready' group by lane
    union all
    select lane, aside, count(*) from entry indexed by job_due_lane
    where shard = :shard and aside in ('scheduled', 'retrying')
    group by lane, aside
    union all
    select lane, aside, count(*) from entry
    where shard = :shard and aside in ('blocked', 'enqueued')
    group by lane, aside
    union all
    select lane, 'running', count(*) from running where shard = :shard group by lane
) as counted
join lane on lane.id = counted.lane
group by lane.pool, counted.state
