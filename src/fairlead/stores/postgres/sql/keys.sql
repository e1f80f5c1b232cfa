-- name: read_lock_timeout
select current_setting('lock_timeout')

-- name: set_lock_timeout
-- For the rest of this transaction.
select set_config('lock_timeout', :patience, true)

-- name: lock_depth
-- One submission at a time for a tenant whose waiting jobs are counted; the lock ends with the transaction.
select pg_advisory_xact_lock(hashtextextended(:tenant, 7046029254386353131))
