-- name: due_schedules
select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    s.handled_until, s.next_at,
    :now, count(job.id)
from (
    select * from schedule as due
    where due.shard = :shard and due.state = 'active' and due.next_at <= :now
    order by due.next_at, due.name
    limit :limit
) as s
left join schedule_fire as fire on fire.schedule = s.name and fire.shard = s.shard and fire.job_id is not null
left join job as job on job.id = fire.job_id
group by s.name
order by s.next_at, s.name

-- name: see_schedule
select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    s.handled_until, s.next_at,
    :now, count(job.id)
from schedule as s
left join schedule_fire as fire on fire.schedule = s.name and fire.shard = s.shard and fire.job_id is not null
left join job as job on job.id = fire.job_id
where s.name = :schedule and s.shard = :shard
group by s.name

-- name: read_fires
select
    fire.schedule, fire.fire_at, fire.manual, fire.outcome, fire.count, fire.job_id, fire.recorded_at
from schedule_fire as fire
where fire.schedule = :name and fire.shard = :shard
order by fire.fire_at desc, fire.manual desc
limit :most
