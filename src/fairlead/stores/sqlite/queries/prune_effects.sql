delete from effect
where job_id = :id
    and not exists (select 1 from entry as job where job.id = effect.job_id)
