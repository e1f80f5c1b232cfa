-- More under the same lease is more of the same claim; then `jobs` is more than was given.
insert into claim (owner, lease, jobs, wide, places) values (:owner, :lease, :jobs, :jobs, :parts)
on conflict (owner, lease) do update
set jobs = jobs + excluded.jobs, wide = wide + excluded.wide,
    places = substr(places, 1, length(places) - 1) || ',' || substr(excluded.places, 2)
returning id, jobs
