delete from job_run where hour < now() - :keep * interval '1 second'
