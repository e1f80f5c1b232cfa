with found as (
    select
        job.fingerprint, lane.type, count(*) as jobs, count(distinct lane.tenant) as tenants,
        min(job.finished_at) as first_at, max(job.finished_at) as last_at, max(job.id) as sample
    from entry as job cross join lane on lane.id = job.lane
    where job.shard = :shard and job.aside = 'dead'
        and (:key is null or job.unique_key = :key)
        and (:type is null or lane.type = :type)
        and (:tenant is null or lane.tenant = :tenant)
        and (:pool is null or lane.pool = :pool)
        and (:priority is null or lane.priority = :priority)
        and (:error_type is null or job.error_type = :error_type)
        and (:fingerprint is null or job.fingerprint = :fingerprint)
        and (:finished_after is null or job.finished_at >= :finished_after)
        and (:finished_before is null or job.finished_at < :finished_before)
    group by job.fingerprint, lane.type
    order by jobs desc, last_at desc, sample desc
    limit :limit
)
select
    found.fingerprint, found.type, newest.error_type, coalesce(newest.error_message, ''), found.sample,
    found.jobs, found.tenants, found.first_at, found.last_at
from found
cross join entry as newest on newest.id = found.sample and newest.shard = :shard and newest.aside = 'dead'
order by found.jobs desc, found.last_at desc, found.sample desc
