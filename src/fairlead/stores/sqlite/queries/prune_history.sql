delete from job_history where id = :id and finished_at = :finished_at returning id
