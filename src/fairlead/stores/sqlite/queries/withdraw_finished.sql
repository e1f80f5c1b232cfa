-- A repeated submission must not bring back a job that arrived the first time and has finished since.
delete from job
where id = :id and shard = :shard and fence = 0
    and exists (select 1 from job_history where job_history.id = job.id)
