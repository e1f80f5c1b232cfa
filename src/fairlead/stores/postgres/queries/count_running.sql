-- Jumps from owner to owner along the index of running jobs, and counts each one's: the cost is that of what runs, not
-- of what waits, whatever the statistics say. `offset 0` keeps the planner from making a scan of all jobs of it.
with recursive owners as (
    (
        select owner from job
        where shard = :shard and state = 'running'
        order by owner limit 1
    )
    union all
    select following.owner
    from owners
    cross join lateral (
        select owner from job
        where shard = :shard and state = 'running' and owner > owners.owner
        order by owner limit 1
    ) as following
)
select running.lane, count(*)
from owners
cross join lateral (
    select lane from job
    where shard = :shard and state = 'running' and owner = owners.owner
    offset 0
) as running
group by running.lane
