-- More under the same lease is more of the same claim; then `jobs` is more than was given. All numbers of claims are kept
-- in four bytes, so that a claim always takes as much of a row's room.
insert into claim (id, owner, lease, jobs, wide, places)
values (
    max(coalesce((select max(id) from claim), 0) + 1, 8388608), :owner, :lease, :jobs, :jobs, :parts
)
on conflict (owner, lease) do update
set jobs = jobs + excluded.jobs, wide = wide + excluded.wide,
    places = substr(places, 1, length(places) - 1) || ',' || substr(excluded.places, 2)
returning id, jobs
