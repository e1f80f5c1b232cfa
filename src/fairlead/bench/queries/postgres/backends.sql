-- The sessions of this database but our own, if the server runs on this machine.
select pid from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
    and coalesce(host(inet_server_addr()) in ('127.0.0.1', '::1'), true)
