update entry
set state = 'ready', aside = null, ready_at = :now
where rowid in (
    select due.rowid from entry as due
    where due.shard = :shard and due.aside in ('scheduled', 'retrying') and due.run_at <= :now
    order by due.run_at, due.id
    limit :limit
)
returning lane
