select count(*) from job
