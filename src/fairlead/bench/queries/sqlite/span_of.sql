select count(*), min(job_history.started_at), max(job_history.finished_at)
from job_history
join lane on lane.id = job_history.lane
where lane.type = :type
