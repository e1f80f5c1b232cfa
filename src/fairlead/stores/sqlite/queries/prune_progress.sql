delete from progress
where job_id = :id
    and not exists (select 1 from entry as job where job.id = progress.job_id)
