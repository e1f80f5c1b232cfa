-- A bucket that has been full for an hour is no different from none.
delete from limit_bucket
where name in (select old.name from limit_bucket as old where old.full_at < :now - 3600 limit :limit)
