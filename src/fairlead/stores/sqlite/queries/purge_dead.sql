delete from entry as job
where place in (
    select job.place
    from entry as job cross join lane on lane.id = job.lane
    where job.shard = :shard and job.aside = 'dead'
        and job.finished_at < :now - :older_than
        and (:key is null or job.unique_key = :key)
        and (:type is null or lane.type = :type)
        and (:tenant is null or lane.tenant = :tenant)
        and (:pool is null or lane.pool = :pool)
        and (:priority is null or lane.priority = :priority)
        and (:error_type is null or job.error_type = :error_type)
        and (:fingerprint is null or job.fingerprint = :fingerprint)
        and (:finished_after is null or job.finished_at >= :finished_after)
        and (:finished_before is null or job.finished_at < :finished_before)
    limit :limit
)
returning id
