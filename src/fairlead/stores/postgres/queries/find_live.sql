select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from job join lane on lane.id = job.lane
where job.shard = :shard
    and (:cursor::uuid is null or job.id < :cursor::uuid)
    and (:states::json is null or job.state in (select json_array_elements_text(:states::json)))
    and (:key::text is null or job.unique_key = :key)
    and (:type::text is null or lane.type = :type)
    and (:tenant::text is null or lane.tenant = :tenant)
    and (:pool::text is null or lane.pool = :pool)
    and (:priority::smallint is null or lane.priority = :priority)
    and (:error_type::text is null or job.error_type = :error_type)
    and coalesce(:fingerprint::text, :finished_after::float8::text, :finished_before::float8::text) is null
order by job.id desc
limit :limit
