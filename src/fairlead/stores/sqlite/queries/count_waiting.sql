select lane, sum(ready), sum(jobs)
from (
    select lane, count(*) as ready, count(*) as jobs from job where shard = :shard and state = 'ready' group by lane
    union all
    select lane, 0, count(*) from job indexed by job_due_lane
    where shard = :shard and state in ('scheduled', 'retrying')
    group by lane
    union all
    select lane, 0, count(*) from job where shard = :shard and state = 'blocked' group by lane
)
group by lane
