-- Jumps from owner to owner along the index of running jobs, then looks only at the jobs of those whose lease is over.
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
select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from owners
join job on job.shard = :shard and job.state = 'running' and job.owner = owners.owner
where not exists (select from worker where worker.id = owners.owner and worker.lease_until > now())
limit :limit
