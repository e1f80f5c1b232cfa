-- Along the index of running jobs: the cost is that of what runs, not of what waits.
select id, lane, started_at, owner
from job indexed by job_running
where shard = :shard and state = 'running'
    and lane in (select value from json_each(:lanes))
order by started_at, id
limit :most
