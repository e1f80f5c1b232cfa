-- A key is free to take over when its window has passed, or when its job was to hold it only while live and is not.
select
    held.tenant,
    held.key,
    held.job_id,
    case
        when held.scope = 'active' then not exists (
            select 1 from entry where entry.id = held.job_id and entry.finished_at is null
        )
        else coalesce(held.expires_at <= :now, false)
    end
from idempotency as held
where held.tenant = :tenant and held.key = :key and held.shard = :shard
