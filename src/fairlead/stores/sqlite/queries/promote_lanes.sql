update record
set state = 'ready', ready_at = :now
where rowid in (
    select due.rowid from record as due indexed by job_due_lane
    where due.shard = :shard and due.lane = :lane and due.state in ('scheduled', 'retrying')
        and due.run_at >= :since and due.run_at <= :now
    order by due.run_at, due.id
    limit :most
)
returning lane
