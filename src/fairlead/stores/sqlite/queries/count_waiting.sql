select lane, sum(ready), sum(jobs)
from (
    select lane, count(*) as ready, count(*) as jobs from entry where state = 'ready' group by lane
    union all
    select lane, 0, count(*) from entry indexed by job_due_lane
    where shard = :shard and aside in ('scheduled', 'retrying')
    group by lane
    union all
    select lane, 0, count(*) from entry
    where shard = :shard and aside in ('blocked', 'enqueued')
    group by lane
)
group by lane
