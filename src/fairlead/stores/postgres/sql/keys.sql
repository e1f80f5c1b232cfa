-- name: read_lock_timeout
select current_setting('lock_timeout')

-- name: set_lock_timeout
-- For the rest of this transaction.
select set_config('lock_timeout', :patience, true)
