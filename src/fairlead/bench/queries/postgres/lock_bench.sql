select pg_try_advisory_lock(:lock::bigint)
