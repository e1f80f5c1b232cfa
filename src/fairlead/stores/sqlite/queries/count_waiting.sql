select lane, sum(ready), sum(jobs)
from (
    select lane, count(*) as ready, count(*) as jobs from record where shard = :shard and state = 'ready' group by lane
    union all
    select lane, 0, count(*) from record indexed by job_due_lane
    where shard = :shard and state in ('scheduled', 'retrying')
    group by lane
    union all
    select lane, 0, count(*) from record
    where shard = :shard and state in ('blocked', 'enqueued')
    group by lane
)
group by lane
