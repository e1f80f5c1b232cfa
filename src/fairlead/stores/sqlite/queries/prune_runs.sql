delete from job_run where hour < :now - :keep
