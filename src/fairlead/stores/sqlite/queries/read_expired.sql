select
    job_history.id, job_history.run_at, job_history.not_after, job_history.finished_at, job_history.options,
    lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits
from job_history
cross join lane on lane.id = job_history.lane
where job_history.id = :id and job_history.shard = :shard
    and job_history.options is not null and job_history.not_after is not null
