select
    version(),
    current_database(),
    current_setting('fsync'),
    current_setting('synchronous_commit'),
    current_setting('full_page_writes'),
    pg_is_in_recovery(),
    date_part('epoch', clock_timestamp())
