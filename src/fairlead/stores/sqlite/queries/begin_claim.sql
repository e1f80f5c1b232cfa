insert into claim (owner, lease) values (:owner, :lease)
on conflict (owner, lease) do update set owner = excluded.owner
returning id
