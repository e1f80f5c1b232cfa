delete from job_wait where minute < :now - min(:keep, 86400)
