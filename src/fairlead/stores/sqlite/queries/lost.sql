-- Jumps from owner to owner along the index of running jobs, then looks only at the jobs of those whose lease is over.
with recursive owners (owner) as (
    select min(owner) from job where shard = :shard and state = 'running'
    union all
    select (select min(owner) from job where shard = :shard and state = 'running' and owner > owners.owner)
    from owners
    where owners.owner is not null
)
select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, job.owner, job.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from owners
cross join job on job.shard = :shard and job.state = 'running' and job.owner = owners.owner
where not exists (select 1 from worker where worker.id = owners.owner and worker.lease_until > :now)
limit :limit
