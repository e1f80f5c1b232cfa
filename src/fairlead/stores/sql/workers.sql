-- name: register_worker
-- A repeated entry leaves the worker as it is; like a renewal it never shortens a lease, nor revives one that is over.
insert into worker (id, host, pid, pools, types, slots, version, state, started_at, lease_until, report)
values (
    :id::uuid, :host, :pid, :pools, :types, :slots, :version, 'active', now(), now() + :lease * interval '1 second', '{}'
)
on conflict (id) do update set lease_until = greatest(worker.lease_until, excluded.lease_until)
where worker.lease_until > now()
returning id::text

-- name: report_worker
update worker set report = :report where id = :id::uuid returning state

-- name: direct_worker
update worker set state = :state where id = :id::uuid and lease_until > now() returning id::text

-- name: retire_worker
delete from worker where id = :id::uuid

-- name: read_workers
select
    id::text, host, pid, pools, types, slots, version, state, date_part('epoch', started_at),
    date_part('epoch', lease_until - now()), report
from worker
order by started_at, id

-- name: renew
update worker
set lease_until = greatest(lease_until, now() + :lease * interval '1 second')
where id in (select r.id from json_to_recordset(:rows::json) as r(id uuid)) and lease_until > now()
returning id::text

-- name: expire
update worker
set lease_until = now()
where id in (select r.id from json_to_recordset(:rows::json) as r(id uuid)) and lease_until > now()

-- name: forget_workers
-- A worker that has been gone for a day and owns nothing is of no use to anyone.
delete from worker
where lease_until < now() - interval '1 day'
    and not exists (select from job where job.shard = :shard and job.state = 'running' and job.owner = worker.id)

-- name: lead
insert into leader (role, identity, term, lease_until)
values (:role, :identity::uuid, 1, now() + :lease * interval '1 second')
on conflict (role) do update
set identity = excluded.identity, lease_until = excluded.lease_until,
    term = leader.term + (leader.identity <> excluded.identity)::int
where leader.identity = excluded.identity or leader.lease_until <= now()
returning term

-- name: resign
update leader set lease_until = now() where role = :role and identity = :identity::uuid

-- name: read_leader
select identity::text, term, date_part('epoch', lease_until - now()) from leader where role = :role

-- name: register_types
insert into job_type (name, version, pool, schema, settings, updated_at)
select r.name, r.version, r.pool, r.schema, r.settings, now()
from json_to_recordset(:rows::json) as r(name text, version integer, pool text, schema text, settings text)
order by r.name
on conflict (name) do update
set version = excluded.version, pool = excluded.pool, schema = excluded.schema, settings = excluded.settings,
    updated_at = excluded.updated_at
where job_type.version <= excluded.version
    and (job_type.version, job_type.pool, job_type.schema, job_type.settings)
        is distinct from (excluded.version, excluded.pool, excluded.schema, excluded.settings)

-- name: read_types
select name, version, pool, schema, settings from job_type order by name

-- name: read_clock
select date_part('epoch', now())
