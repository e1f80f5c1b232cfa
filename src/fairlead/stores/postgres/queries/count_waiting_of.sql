-- How many jobs of a tenant wait; no more than a bound are looked at.
select count(*)
from (
    select found.one
    from lane
    cross join lateral (
        select 1 as one from job
        where job.shard = :shard and job.lane = lane.id and job.state = 'ready'
        union all
        select 1 from job
        where job.shard = :shard and job.lane = lane.id and job.state in ('scheduled', 'retrying')
    ) as found
    where lane.tenant = :tenant
    limit :most
) as waiting
