insert into idempotency (tenant, key, shard, job_id, scope, expires_at)
values (:tenant, :key, :shard, :job_id, :scope, :now + :expires_in)
on conflict (tenant, key, shard) do nothing
returning tenant, key
