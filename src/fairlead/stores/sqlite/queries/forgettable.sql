-- Keys that nobody needs: their window has passed, or their job was to hold them only while live and is not.
select tenant, key, job_id from (
    select held.tenant, held.key, held.job_id from idempotency as held
    where held.expires_at <= :now and held.shard = :shard
    limit :limit
)
union
select tenant, key, job_id from (
    select held.tenant, held.key, held.job_id from idempotency as held
    where held.scope = 'active' and held.shard = :shard
        and not exists (select 1 from entry where entry.id = held.job_id and entry.finished_at is null)
    limit :limit
)
