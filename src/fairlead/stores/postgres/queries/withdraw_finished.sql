-- A repeated submission must not bring back a job that arrived the first time and has finished since.
delete from job
where shard = :shard
    and id in (select r.id from json_to_recordset(:rows::json) as r(id uuid))
    and fence = 0
    and exists (select from job_history where job_history.id = job.id and job_history.shard = :shard)
