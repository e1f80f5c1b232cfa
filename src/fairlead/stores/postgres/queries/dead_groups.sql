with found as (
    select
        job.fingerprint, lane.type, count(*) as jobs, count(distinct lane.tenant) as tenants,
        min(job.finished_at) as first_at, max(job.finished_at) as last_at, max(job.id::text) as sample
    from job_history as job join lane on lane.id = job.lane
    where job.shard = :shard and job.state = 'dead'
        and (:key::text is null or job.unique_key = :key)
        and (:type::text is null or lane.type = :type)
        and (:tenant::text is null or lane.tenant = :tenant)
        and (:pool::text is null or lane.pool = :pool)
        and (:priority::smallint is null or lane.priority = :priority)
        and (:error_type::text is null or job.error_type = :error_type)
        and (:fingerprint::text is null or job.fingerprint = :fingerprint)
        and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
        and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
    group by job.fingerprint, lane.type
    order by jobs desc, last_at desc, sample desc
    limit :limit
)
select
    found.fingerprint, found.type, newest.error_type, coalesce(newest.error_message, ''), found.sample,
    found.jobs, found.tenants, date_part('epoch', found.first_at), date_part('epoch', found.last_at)
from found
join job_history as newest on newest.id = found.sample::uuid and newest.shard = :shard and newest.state = 'dead'
order by found.jobs desc, found.last_at desc, found.sample desc
