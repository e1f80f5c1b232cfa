-- Cross join fixes the order: newest jobs first along the index of ids, each with its lane, until the page is full.
select
    job.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, job.state, job.payload,
    job.attempt, job.crashes, job.fence, job.created_at, job.run_at, job.not_after, job.started_at, job.finished_at,
    coalesce(job.owner, claim.owner), job.result, job.error_type, job.error_message, job.unique_key, job.options,
    job.parent, job.fingerprint, job.replays, job.failure, lane.limits
from entry as job indexed by job_id
cross join lane on lane.id = job.lane
left join claim on claim.id = job.claim
where job.shard = :shard
    and job.id < coalesce(:cursor, '~')
    and job.id >= coalesce(:floor, '')
    and (:states is null or job.state in (select value from json_each(:states)))
    and (:key is null or job.unique_key = :key)
    and (:containing is null or instr(job.unique_key, :containing) > 0)
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
