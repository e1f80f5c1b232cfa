-- name: add_callback
insert into callback_endpoint (
    owner, name, url, events, pool, secrets, enabled, why_disabled, version, created_at
)
values (:owner, :name, :url, :events, :pool, :secrets, :enabled, :why_disabled, :version, now())
on conflict (owner, name) do nothing
returning name

-- name: change_callback
update callback_endpoint
set url = :url, events = :events, pool = :pool, secrets = :secrets, enabled = :enabled, why_disabled = :why_disabled,
    version = :version
where owner = :owner and name = :name and version = :seen and secrets = :seen_secrets
returning name

-- name: remove_callback
delete from callback_endpoint where owner = :owner and name = :name returning name

-- name: read_callbacks
select
    e.owner, e.name, e.url, e.events, e.pool, e.secrets, e.enabled, e.why_disabled, e.version,
    date_part('epoch', e.created_at)
from json_to_recordset(:rows::json) as r(owner text, name text)
join callback_endpoint as e on e.owner = r.owner and e.name = r.name

-- name: list_callbacks
select
    owner, name, url, events, pool, secrets, enabled, why_disabled, version, date_part('epoch', created_at)
from callback_endpoint
where (:owner::text is null or owner = :owner)
    and (:after_owner::text is null or (owner, name) > (:after_owner, :after_name::text))
order by owner, name
limit :limit

-- name: add_delivery
-- A try belongs to the endpoint that it was sent to: one of the same name that was made later has another log.
with known as materialized (
    select owner, name from callback_endpoint
    where owner = :owner and name = :name and url = :url
    for share
)
insert into callback_delivery (
    owner, name, delivery, job_id, message, event, attempt, status, took, error, at
)
select known.owner, known.name, :delivery::uuid, :job_id::uuid, :message, :event, :attempt, :status, :took, :error, now()
from known
returning id

-- name: trim_deliveries
delete from callback_delivery
where owner = :owner and name = :name
    and id <= (
        select newer.id from callback_delivery as newer
        where newer.owner = :owner and newer.name = :name
        order by newer.id desc limit 1 offset :kept
    )

-- name: read_deliveries
select
    delivery::text, job_id::text, message, event, attempt, status, took, error, id, date_part('epoch', at)
from callback_delivery
where owner = :owner and name = :endpoint and (:cursor::bigint is null or id < :cursor)
order by id desc
limit :limit

-- name: remove_deliveries
delete from callback_delivery where owner = :owner and name = :name

-- name: prune_deliveries
delete from callback_delivery
where id in (select id from callback_delivery where at < now() - :older_than::float8 * interval '1 second' order by at limit :limit)
returning id
