delete from attempt
where job_id = :id
    and not exists (select 1 from job where job.id = attempt.job_id)
    and not exists (select 1 from job_history where job_history.id = attempt.job_id)
