-- A dead job's own key is deleted and then reserved anew, as on PostgreSQL, where others may have read it as free.
delete from idempotency
where tenant = :tenant and key = :key and shard = :shard and job_id = :job_id and scope = 'active'
