select lane, count(*) filter (where state = 'ready'), count(*)
from job
where shard = :shard and state <> 'running'
group by lane
