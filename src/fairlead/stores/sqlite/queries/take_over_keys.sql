update idempotency
set job_id = :job_id, scope = :scope, expires_at = :now + :expires_in
where tenant = :tenant and key = :key and shard = :shard and job_id = :seen
returning tenant, key
