-- SQLite tests the state once for each part of `live`, and skips the part, only where that is no look into a list.
select live.state, count(*)
from live
cross join entry as job on job.place = live.place
cross join lane on lane.id = job.lane
where live.shard = :shard
    and (:states is null or instr(:states, '"' || live.state || '"'))
    and (:key is null or job.unique_key = :key)
    and (:type is null or lane.type = :type)
    and (:tenant is null or lane.tenant = :tenant)
    and (:pool is null or lane.pool = :pool)
    and (:priority is null or lane.priority = :priority)
    and (:error_type is null or job.error_type = :error_type)
    and coalesce(:fingerprint, :finished_after, :finished_before) is null
group by live.state
