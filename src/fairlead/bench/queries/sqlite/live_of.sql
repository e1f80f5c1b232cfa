select count(*)
from live
cross join entry as job on job.place = live.place
cross join lane on lane.id = job.lane
where lane.type = :type
