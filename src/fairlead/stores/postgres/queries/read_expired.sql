select
    job_history.id::text, date_part('epoch', job_history.run_at), date_part('epoch', job_history.not_after),
    date_part('epoch', job_history.finished_at), job_history.options,
    lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits
from job_history
join lane on lane.id = job_history.lane
where job_history.shard = :shard
    and job_history.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
    and job_history.finished_at = now()
    and job_history.options is not null and job_history.not_after is not null
