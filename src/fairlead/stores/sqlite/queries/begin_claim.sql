-- More under the same lease is more of the same claim.
insert into claim (owner, lease, places) values (:owner, :lease, :parts)
on conflict (owner, lease) do update set places = substr(places, 1, length(places) - 1) || ',' || substr(excluded.places, 2)
returning id
