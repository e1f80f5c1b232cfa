select
    job_history.id::text, job_history.state, job_history.attempt, job_history.fence,
    date_part('epoch', job_history.created_at), date_part('epoch', job_history.run_at),
    date_part('epoch', job_history.not_after), date_part('epoch', job_history.started_at),
    date_part('epoch', job_history.finished_at), job_history.unique_key, job_history.result, job_history.error_type,
    job_history.error_message, job_history.options,
    lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits
from job_history
join lane on lane.id = job_history.lane
where job_history.shard = :shard
    and job_history.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
    and job_history.finished_at = now()
    and job_history.options is not null
