-- Along the index of running jobs: the cost is that of what runs, not of what waits.
select job.id, job.lane, job.started_at, claim.owner
from job indexed by job_running cross join claim on claim.id = job.claim
where job.shard = :shard and job.state = 'running'
    and job.lane in (select value from json_each(:lanes))
order by job.started_at, job.id
limit :most
