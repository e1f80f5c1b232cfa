select
    job_history.id, job_history.state, job_history.attempt, job_history.fence, job_history.created_at,
    job_history.run_at, job_history.not_after, job_history.started_at, job_history.finished_at,
    job_history.unique_key, job_history.result, job_history.error_type, job_history.error_message,
    job_history.options,
    lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits
from job_history
cross join lane on lane.id = job_history.lane
where job_history.id = :id and job_history.shard = :shard and job_history.options is not null
