select lane.tenant, job_history.result
from job_history
join lane on lane.id = job_history.lane
where job_history.state = 'succeeded'
