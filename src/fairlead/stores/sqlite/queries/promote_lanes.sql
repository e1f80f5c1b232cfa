update entry
set state = 'ready', aside = null, ready_at = :now
where rowid in (
    select due.rowid from entry as due indexed by job_due_lane
    where due.shard = :shard and due.lane = :lane and due.aside in ('scheduled', 'retrying')
        and due.run_at >= :since and due.run_at <= :now
    order by due.run_at, due.id
    limit :most
)
returning lane
