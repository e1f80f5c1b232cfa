select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at),
    date_part('epoch', now()), unfinished.live, unfinished.waiting
from schedule as s
cross join lateral (
    select count(*) as live, count(*) filter (where job.fence = 0) as waiting
    from job
    where job.shard = s.shard and job.id = any(array(
        select fire.job_id from schedule_fire as fire where fire.schedule = s.name and fire.shard = s.shard
    ))
) as unfinished
where s.shard = :shard and s.name = :schedule
