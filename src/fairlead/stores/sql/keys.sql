-- name: reserve_keys
insert into idempotency (tenant, type, key, shard, job_id, while_live, kept_until)
select r.tenant, r.type, r.key, :shard, r.job_id, r.while_live, now() + r.kept_for * interval '1 second'
from json_to_recordset(:rows::json)
    as r(tenant text, type text, key text, job_id uuid, while_live boolean, kept_for float8)
where true
order by r.tenant, r.type, r.key
on conflict (tenant, type, key, shard) do nothing
returning tenant, type, key

-- name: read_keys
-- A key is free to take over when its time has passed, and its job, if that was to hold it while live, has ended.
select
    held.tenant, held.type, held.key, held.job_id::text, date_part('epoch', held.kept_until - now()),
    (
        not (held.while_live and exists (select from job where job.id = held.job_id and job.shard = held.shard))
        and (held.kept_until is null or held.kept_until <= now())
    ) as free
from json_to_recordset(:rows::json) as r(tenant text, type text, key text)
join idempotency as held on held.tenant = r.tenant and held.type = r.type and held.key = r.key and held.shard = :shard

-- name: take_over_keys
-- Locks in the order of the keys, as reserve_keys does, so that two takers of the same keys cannot block each other.
-- A job that was dead when its key was read may have been revived since, with the same key and the same id: it is live
-- now, and the key stays with it.
with r as materialized (
    select * from json_to_recordset(:rows::json)
        as r(tenant text, type text, key text, seen uuid, job_id uuid, while_live boolean, kept_for float8)
),
held as materialized (
    select held.tenant, held.type, held.key
    from idempotency as held
    join r on r.tenant = held.tenant and r.type = held.type and r.key = held.key and r.seen = held.job_id
    where held.shard = :shard
        and not (held.while_live and exists (select from job where job.id = held.job_id and job.shard = held.shard))
        and (held.kept_until is null or held.kept_until <= now())
    order by held.tenant, held.type, held.key
    for update of held
)
update idempotency
set job_id = r.job_id, while_live = r.while_live, kept_until = now() + r.kept_for * interval '1 second'
from r join held on held.tenant = r.tenant and held.type = r.type and held.key = r.key
where idempotency.tenant = r.tenant and idempotency.type = r.type and idempotency.key = r.key
    and idempotency.shard = :shard and idempotency.job_id = r.seen
returning idempotency.tenant, idempotency.type, idempotency.key

-- name: strengthen_keys
-- A later submission wants the key to be kept for longer than the one that holds it.
update idempotency
set kept_until = now() + r.kept_for * interval '1 second'
from json_to_recordset(:rows::json) as r(tenant text, type text, key text, seen uuid, kept_for float8)
where idempotency.tenant = r.tenant and idempotency.type = r.type and idempotency.key = r.key
    and idempotency.shard = :shard and idempotency.job_id = r.seen

-- name: release_keys
-- A dead job's own key is deleted and then reserved anew: whoever has just read it as free finds it gone and looks
-- again.
delete from idempotency
where (tenant, type, key, shard) in (
    select held.tenant, held.type, held.key, held.shard
    from idempotency as held
    join json_to_recordset(:rows::json) as r(tenant text, type text, key text, job_id uuid)
        on r.tenant = held.tenant and r.type = held.type and r.key = held.key and r.job_id = held.job_id
    where held.shard = :shard and held.while_live and held.kept_until is null
    order by held.tenant, held.type, held.key
    for update of held
)

-- name: forget_keys
-- Keys that nobody needs. Found without locks, then locked only if the same job still holds the key: a taker who
-- committed in between keeps it, though its job is not in this statement's snapshot.
delete from idempotency
where (tenant, type, key, shard) in (
    select again.tenant, again.type, again.key, again.shard
    from (
        select held.tenant, held.type, held.key, held.shard, held.job_id
        from idempotency as held
        where held.shard = :shard
            and not (held.while_live and exists (select from job where job.id = held.job_id and job.shard = held.shard))
            and (held.kept_until is null or held.kept_until <= now())
        limit :limit
    ) as free
    join idempotency as again
        on again.tenant = free.tenant and again.type = free.type and again.key = free.key
        and again.shard = free.shard and again.job_id = free.job_id
    for update of again skip locked
)
