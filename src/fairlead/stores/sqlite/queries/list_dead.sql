-- The state is written out, so that the partial index of dead jobs serves; cross join fixes the order of reading.
select
    job.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, job.created_at, job.run_at, job.not_after, job.started_at, job.finished_at,
    job.owner, job.result, job.error_type, job.error_message, job.unique_key, job.options, job.parent,
    job.fingerprint, job.replays, job.failure, lane.limits
from entry as job cross join lane on lane.id = job.lane
where job.shard = :shard and job.aside = 'dead'
    and job.id < coalesce(:cursor, '~')
    and (:key is null or job.unique_key = :key)
    and (:type is null or lane.type = :type)
    and (:tenant is null or lane.tenant = :tenant)
    and (:pool is null or lane.pool = :pool)
    and (:priority is null or lane.priority = :priority)
    and (:error_type is null or job.error_type = :error_type)
    and (:fingerprint is null or job.fingerprint = :fingerprint)
    and (:finished_after is null or job.finished_at >= :finished_after)
    and (:finished_before is null or job.finished_at < :finished_before)
order by job.id desc
limit :limit
