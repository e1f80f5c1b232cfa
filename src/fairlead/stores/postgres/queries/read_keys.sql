-- A key is free to take over when its window has passed, or when its job was to hold it only while live and is not.
select
    held.tenant,
    held.key,
    held.job_id::text,
    case
        when held.scope = 'active' then not exists (
            select from job where job.id = held.job_id and job.shard = held.shard
        )
        else coalesce(held.expires_at <= now(), false)
    end as free
from json_to_recordset(:rows::json) as r(tenant text, key text)
join idempotency as held on held.tenant = r.tenant and held.key = r.key and held.shard = :shard
