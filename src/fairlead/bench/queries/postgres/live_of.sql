select count(*) from job join lane on lane.id = job.lane where lane.type = :type
