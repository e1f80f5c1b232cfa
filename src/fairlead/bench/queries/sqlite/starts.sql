select id, run_at, result from job_history where result is not null
