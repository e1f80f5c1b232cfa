-- Jumps from owner to owner along the index of claims, then looks only at the jobs of those whose lease is over.
with recursive owners (owner) as (
    select min(owner) from claim
    union all
    select (select min(owner) from claim where owner > owners.owner)
    from owners
    where owners.owner is not null
)
select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at,
    job.state, job.fence, claim.owner, claim.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from owners
cross join claim on claim.owner = owners.owner
cross join job on job.shard = :shard and job.claim = claim.id and job.state = 'running'
where not exists (select 1 from worker where worker.id = owners.owner and worker.lease_until > :now)
limit :limit
