-- A repeated entry leaves the worker as it is; like a renewal it never shortens a lease, nor revives one that is over.
insert into worker (id, host, pid, pools, types, slots, version, state, started_at, lease_until, report)
values (
    :id::uuid, :host, :pid, :pools, :types, :slots, :version, 'active', now(), now() + :lease * interval '1 second', '{}'
)
on conflict (id) do update set lease_until = greatest(worker.lease_until, excluded.lease_until)
where worker.lease_until > now()
returning id::text
