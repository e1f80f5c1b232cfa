-- name: schema_exists
select to_regclass('schema_version')

-- name: migration_lock
select pg_advisory_xact_lock(:lock)

-- name: facts
select
    version(),
    current_database(),
    current_setting('fsync'),
    current_setting('synchronous_commit'),
    current_setting('full_page_writes'),
    pg_is_in_recovery(),
    date_part('epoch', clock_timestamp())

-- name: is_direct
-- A pooler hands out keys of its own for cancelling, so the session that it was told of is not the one that answers.
select pg_backend_pid() = :pid

-- name: settle_session
-- Our statements run for milliseconds, and compiling one takes longer than that. And no plan may depend on what was last
-- known of a table's size: jobs come and go within seconds, and reading all of them, which is quick while they are few,
-- stays the plan of a prepared statement when they are many. A scan of the whole table is left only where there is no
-- other way.
select set_config('jit', 'off', false), set_config('enable_seqscan', 'off', false)
