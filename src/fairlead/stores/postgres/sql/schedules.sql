-- name: due_schedules
select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at),
    date_part('epoch', now()), unfinished.live
from schedule as s
cross join lateral (
    select count(*) as live
    from job
    where job.shard = s.shard and job.id = any(array(
        select fire.job_id from schedule_fire as fire where fire.schedule = s.name and fire.shard = s.shard
    ))
) as unfinished
where s.shard = :shard and s.state = 'active' and s.next_at <= now()
order by s.next_at, s.name
limit :limit

-- name: see_schedule
select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at),
    date_part('epoch', now()), unfinished.live
from schedule as s
cross join lateral (
    select count(*) as live
    from job
    where job.shard = s.shard and job.id = any(array(
        select fire.job_id from schedule_fire as fire where fire.schedule = s.name and fire.shard = s.shard
    ))
) as unfinished
where s.shard = :shard and s.name = :schedule

-- name: read_fires
select
    fire.schedule, date_part('epoch', fire.fire_at), fire.manual, fire.outcome, fire.count, fire.job_id::text,
    date_part('epoch', fire.recorded_at)
from json_to_recordset(:rows::json) as r(name text, most integer)
cross join lateral (
    select * from schedule_fire as recent
    where recent.schedule = r.name and recent.shard = :shard
    order by recent.fire_at desc, recent.manual desc
    limit r.most
) as fire
order by fire.schedule, fire.fire_at desc, fire.manual desc
