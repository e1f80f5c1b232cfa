select id::text, result from job_history
