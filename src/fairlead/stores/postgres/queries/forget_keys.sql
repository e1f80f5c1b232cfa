-- Found without locks, then locked only if the same job still holds the key: a taker who committed in between keeps it,
-- though its job is not in this statement's snapshot.
delete from idempotency
where (tenant, key, shard) in (
    select held.tenant, held.key, held.shard
    from (
        select seen.tenant, seen.key, seen.shard, seen.job_id
        from idempotency as seen
        where seen.shard = :shard
            and (
                seen.expires_at <= now()
                or (seen.scope = 'active' and not exists (
                    select from job where job.id = seen.job_id and job.shard = seen.shard
                ))
            )
        limit :limit
    ) as free
    join idempotency as held
        on held.tenant = free.tenant and held.key = free.key and held.shard = free.shard and held.job_id = free.job_id
    for update of held skip locked
)
