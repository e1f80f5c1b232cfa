-- A key that another job, or its own, has taken again meanwhile stays.
delete from idempotency
where tenant = :tenant and key = :key and shard = :shard and job_id = :job_id
    and (
        expires_at <= :now
        or (
            scope = 'active'
            and not exists (
                select 1 from entry where entry.id = idempotency.job_id and entry.finished_at is null
            )
        )
    )
