select lane.pool, job.state, count(*)
from job join lane on lane.id = job.lane
group by lane.pool, job.state
