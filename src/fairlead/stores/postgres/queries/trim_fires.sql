-- The last ones are kept, and those whose job has not ended, which the overlap policy has to see.
delete from schedule_fire as fire
using json_to_recordset(:rows::json) as r(schedule text, kept integer)
where fire.shard = :shard and fire.schedule = r.schedule
    and fire.fire_at <= (
        select newer.fire_at from schedule_fire as newer
        where newer.shard = :shard and newer.schedule = r.schedule
        order by newer.fire_at desc offset r.kept limit 1
    )
    and (select count(*) from job where job.id = fire.job_id and job.shard = :shard) = 0
