-- Along the index of running jobs: the cost is that of what runs, not of what waits.
select lane, count(*)
from job indexed by job_running
where shard = :shard and state = 'running'
group by lane
