select id::text, date_part('epoch', run_at), result from job_history where result is not null
