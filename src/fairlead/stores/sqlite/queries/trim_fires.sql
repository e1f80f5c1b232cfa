delete from schedule_fire
where schedule = :schedule and shard = :shard
    and fire_at <= (
        select newer.fire_at from schedule_fire as newer
        where newer.schedule = :schedule and newer.shard = :shard
        order by newer.fire_at desc limit 1 offset :kept
    )
    and not exists (select 1 from entry where entry.id = schedule_fire.job_id and entry.finished_at is null)
