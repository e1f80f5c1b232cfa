select
    job.id, job.state, job.attempt, job.fence, job.created_at,
    job.run_at, job.not_after, job.started_at, job.finished_at,
    job.unique_key, job.result, job.error_type, job.error_message,
    job.options,
    lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits
from entry as job
cross join lane on lane.id = job.lane
where job.id = :id and job.shard = :shard and job.finished_at is not null and job.options is not null
