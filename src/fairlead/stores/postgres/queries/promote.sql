update job
set state = 'ready', ready_at = now()
where shard = :shard
    and id = any(array(
        select due.id from job as due
        where due.shard = :shard and due.state in ('scheduled', 'retrying') and due.run_at <= now()
        order by due.run_at, due.id
        limit :limit
        for update skip locked
    ))
returning lane
