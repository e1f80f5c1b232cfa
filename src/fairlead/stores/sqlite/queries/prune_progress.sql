delete from progress
where job_id = :id
    and not exists (select 1 from job where job.id = progress.job_id)
    and not exists (select 1 from job_history where job_history.id = progress.job_id)
