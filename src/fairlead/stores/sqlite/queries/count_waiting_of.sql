-- How many jobs of a tenant wait; no more than a bound are looked at.
select count(*)
from (
    select 1
    from lane
    cross join entry indexed by job_ready on entry.lane = lane.id and entry.state = 'ready'
    where lane.tenant = :tenant
    union all
    select 1
    from lane
    cross join entry indexed by job_due_lane
        on entry.shard = :shard and entry.lane = lane.id and entry.aside in ('scheduled', 'retrying')
    where lane.tenant = :tenant
    limit :most
)
