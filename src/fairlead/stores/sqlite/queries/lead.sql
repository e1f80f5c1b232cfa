insert into leader (role, identity, term, lease_until)
values (:role, :identity, 1, :now + :lease)
on conflict (role) do update
set identity = excluded.identity, lease_until = excluded.lease_until,
    term = leader.term + (leader.identity <> excluded.identity)
where leader.identity = excluded.identity or leader.lease_until <= :now
returning term
