select id, result from job_history
