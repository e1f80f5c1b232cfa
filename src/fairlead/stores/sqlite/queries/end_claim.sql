-- A claim of so many jobs in all, which have just ended.
delete from claim where owner = :owner and lease = :lease and wide = :jobs
