-- A pooler hands out keys of its own for cancelling, so the session that it was told of is not the one that answers.
select pg_backend_pid() = :pid
