insert into worker (id, host, pid, pools, types, slots, version, state, started_at, lease_until, report)
values (:id, :host, :pid, :pools, :types, :slots, :version, 'active', :now, :now + :lease, '{}')
