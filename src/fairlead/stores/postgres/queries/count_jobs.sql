-- Counted by lane first, so that no job is joined with anything.
select lane.pool, counted.state, sum(counted.jobs)::bigint
from (select job.lane, job.state, count(*) as jobs from job group by job.lane, job.state) as counted
join lane on lane.id = counted.lane
group by lane.pool, counted.state
