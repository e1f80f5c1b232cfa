delete from job_history
where state = 'dead' and (id, finished_at, shard) in (
    select job.id, job.finished_at, job.shard
    from job_history as job join lane on lane.id = job.lane
    where job.shard = :shard and job.state = 'dead'
        and job.finished_at < now() - :older_than * interval '1 second'
        and (:key::text is null or job.unique_key = :key)
        and (:type::text is null or lane.type = :type)
        and (:tenant::text is null or lane.tenant = :tenant)
        and (:pool::text is null or lane.pool = :pool)
        and (:priority::smallint is null or lane.priority = :priority)
        and (:error_type::text is null or job.error_type = :error_type)
        and (:fingerprint::text is null or job.fingerprint = :fingerprint)
        and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
        and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
    limit :limit
)
returning id::text
