select count(*), min(started_at), max(finished_at) from job_history where finished_at >= :since and finished_at < :until
