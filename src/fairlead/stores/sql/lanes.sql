-- name: insert_lanes
insert into lane (id, pool, tenant, type, priority, version, limits)
select r.id, r.pool, r.tenant, r.type, r.priority, r.version, r.limits
from json_to_recordset(:rows::json)
    as r(id bigint, pool text, tenant text, type text, priority smallint, version integer, limits text)
where true
order by r.id
on conflict (id) do nothing

-- name: wake_lanes
update lane
set idle_since = null
where id in (select r.id from json_to_recordset(:rows::json) as r(id bigint))

-- name: read_lanes
select lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits,
    lane.idle_since is not null
from lane
where lane.id in (select r.id from json_to_recordset(:rows::json) as r(id bigint))

-- name: keyed_lanes
select lane.id from lane where lane.limits like '%=%' limit 1

-- name: mark_lanes
-- Notes that no live job is in a lane with a key.
update lane
set idle_since = now()
where lane.limits like '%=%' and lane.idle_since is null
    and not exists (select from job where job.shard = :shard and job.lane = lane.id)

-- name: unmark_lanes
-- Takes that back where there is one again.
update lane
set idle_since = null
where lane.limits like '%=%' and lane.idle_since is not null
    and exists (select from job where job.shard = :shard and job.lane = lane.id)

-- name: forget_lanes
delete from lane
where lane.limits like '%=%'
    and lane.idle_since < now() - :kept * interval '1 second'
    and not exists (select from job where job.shard = :shard and job.lane = lane.id)
returning lane.id

-- name: make_limits
insert into limit_bucket (name, at, full_at)
select r.name, now(), now()
from json_to_recordset(:rows::json) as r(name text)
order by r.name
on conflict (name) do nothing

-- name: read_limits
select name, tokens, date_part('epoch', at), date_part('epoch', now()) from limit_bucket order by name

-- name: spend_limits
update limit_bucket
set tokens = r.tokens, at = to_timestamp(r.at), full_at = to_timestamp(r.full_at)
from json_to_recordset(:rows::json) as r(name text, tokens float8, at float8, full_at float8)
where limit_bucket.name = r.name

-- name: forget_limits
-- A bucket that has been full for an hour is no different from none; nobody who uses it is waited for.
delete from limit_bucket
where name in (
    select old.name from limit_bucket as old
    where old.full_at < now() - interval '1 hour'
    limit :limit
    for update skip locked
)
