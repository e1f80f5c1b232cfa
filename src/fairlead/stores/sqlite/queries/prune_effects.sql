delete from effect
where job_id = :id
    and not exists (select 1 from job where job.id = effect.job_id)
    and not exists (select 1 from job_history where job_history.id = effect.job_id)
