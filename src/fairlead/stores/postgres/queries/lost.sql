-- Looks only between the numbers of live workers: what these have run lately fills the index until it is vacuumed. The
-- inner limit keeps the planner from going through all running jobs first, however few it takes them for.
with live as (
    select id from worker where lease_until > now()
    union all
    select null
),
gaps as (
    select id as low, lead(id) over (order by id nulls first) as high from live
)
select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from gaps
cross join lateral (
    select * from job
    where shard = :shard and state = 'running'
        and owner > coalesce(gaps.low, '00000000-0000-0000-0000-000000000000')
        and owner < coalesce(gaps.high, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by owner
    limit :limit
) as job
limit :limit
