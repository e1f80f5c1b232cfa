-- name: insert_schedule
insert into schedule (
    name, shard, owner, state, version, expression, zone, pool, tenant, type, priority, type_version, limits, payload,
    options, overlap, catch_up, catch_up_window, start_within, handled_until, next_at, created_at, updated_at
)
values (
    :name, :shard, :owner, :state, :version, :expression, :zone, :pool, :tenant, :type, :priority, :type_version,
    :limits, :payload, :options, :overlap, :catch_up, :window, :start_within,
    to_timestamp(:handled_until::float8), to_timestamp(:next_at::float8), now(), now()
)
on conflict (name, shard) do nothing
returning name

-- name: update_schedule
update schedule
set owner = :owner, state = :state, version = :version, expression = :expression, zone = :zone, pool = :pool, tenant = :tenant,
    type = :type, priority = :priority, type_version = :type_version, limits = :limits, payload = :payload, options = :options,
    overlap = :overlap, catch_up = :catch_up, catch_up_window = :window, start_within = :start_within,
    handled_until = to_timestamp(:handled_until::float8), next_at = to_timestamp(:next_at::float8), updated_at = now()
where name = :name and shard = :shard and version = :seen
returning name

-- name: remove_schedule
delete from schedule where name = :name and shard = :shard and version = :seen returning name

-- name: list_schedules
select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at)
from schedule as s
where s.shard = :shard
    and (:after::text is null or s.name > :after::text)
    and (:owner::text is null or s.owner = :owner::text)
    and (:tenant::text is null or s.tenant = :tenant::text)
order by s.name
limit :limit

-- name: read_schedules
select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at)
from schedule as s
join json_to_recordset(:rows::json) as r(name text) on r.name = s.name
where s.shard = :shard
order by s.name

-- name: lock_schedules
-- Those that are still what was seen; one that another scheduler has in hands is left to it.
select s.name from schedule as s
join json_to_recordset(:rows::json) as r(name text, version bigint) on s.name = r.name and s.version = r.version
where s.shard = :shard and s.state = 'active'
order by s.name
for update of s skip locked

-- name: advance_schedules
update schedule as s
set version = r.version + 1, handled_until = to_timestamp(r.handled_until), next_at = to_timestamp(r.next_at)
from json_to_recordset(:rows::json) as r(name text, version bigint, handled_until float8, next_at float8)
where s.shard = :shard and s.name = r.name and s.version = r.version

-- name: next_fire
select date_part('epoch', s.next_at - now()) from schedule as s
where s.shard = :shard and s.state = 'active' and s.next_at is not null
order by s.next_at limit 1

-- name: insert_fires
insert into schedule_fire (schedule, shard, fire_at, manual, outcome, count, job_id, recorded_at)
select r.schedule, :shard, to_timestamp(r.fire_at), r.manual, r.outcome, r.count, r.job_id, now()
from json_to_recordset(:rows::json) as r(
    schedule text, fire_at float8, manual boolean, outcome text, count integer, job_id uuid
)
where true
on conflict (schedule, fire_at, manual, shard) do nothing
returning job_id::text

-- name: trim_fires
-- The last ones are kept, and those whose job has not ended, which the overlap policy has to see.
delete from schedule_fire
where shard = :shard and (schedule, fire_at, manual) in (
    select fire.schedule, fire.fire_at, fire.manual
    from json_to_recordset(:rows::json) as r(schedule text, kept integer)
    join schedule_fire as fire on fire.schedule = r.schedule and fire.shard = :shard
    where (
            select count(*) from schedule_fire as newer
            where newer.schedule = fire.schedule and newer.shard = :shard and newer.fire_at > fire.fire_at
        ) >= r.kept
        and (select count(*) from job where job.id = fire.job_id and job.shard = :shard) = 0
)

-- name: remove_fires
delete from schedule_fire where schedule = :name and shard = :shard
