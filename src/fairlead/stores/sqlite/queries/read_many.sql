select
    job.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, job.created_at, job.run_at, job.not_after, job.started_at, job.finished_at,
    coalesce(job.owner, claim.owner), job.result, job.error_type, job.error_message, job.unique_key, job.options,
    job.parent, job.fingerprint, job.replays, job.failure, lane.limits,
    progress.done, progress.total, progress.message, progress.at
from entry as job join lane on lane.id = job.lane
left join claim on claim.id = job.claim
left join progress on progress.job_id = job.id and progress.shard = job.shard and progress.fence = job.fence
where job.id = :id and job.shard = :shard
