update record
set state = 'ready', ready_at = :now
where rowid in (
    select due.rowid from record as due
    where due.shard = :shard and due.state in ('scheduled', 'retrying') and due.run_at <= :now
    order by due.run_at, due.id
    limit :limit
)
returning lane
