-- Locks in the order of the keys, as reserve_keys does, so that two takers of the same keys cannot block each other.
-- A job that was dead when its key was read may have been revived since, with the same key and the same id: it is live
-- now, and the key stays with it.
with r as materialized (
    select * from json_to_recordset(:rows::json)
        as r(tenant text, key text, seen uuid, job_id uuid, scope text, expires_in float8)
),
held as materialized (
    select held.tenant, held.key
    from idempotency as held
    join r on r.tenant = held.tenant and r.key = held.key and r.seen = held.job_id
    where held.shard = :shard
        and (
            held.scope <> 'active'
            or not exists (select from job where job.id = held.job_id and job.shard = held.shard)
        )
    order by held.tenant, held.key
    for update of held
)
update idempotency
set job_id = r.job_id, scope = r.scope, expires_at = now() + r.expires_in * interval '1 second'
from r join held on held.tenant = r.tenant and held.key = r.key
where idempotency.tenant = r.tenant
    and idempotency.key = r.key
    and idempotency.shard = :shard
    and idempotency.job_id = r.seen
returning idempotency.tenant, idempotency.key
