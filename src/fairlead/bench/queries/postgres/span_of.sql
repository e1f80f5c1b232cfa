select count(*), date_part('epoch', min(job_history.started_at)), date_part('epoch', max(job_history.finished_at))
from job_history
join lane on lane.id = job_history.lane
where lane.type = :type
