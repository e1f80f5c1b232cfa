-- A bucket that has been full for an hour is no different from none; nobody who uses it is waited for.
delete from limit_bucket
where name in (
    select old.name from limit_bucket as old
    where old.full_at < now() - interval '1 hour'
    limit :limit
    for update skip locked
)
