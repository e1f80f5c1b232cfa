delete from job_wait where minute < now() - least(:keep, 86400) * interval '1 second'
