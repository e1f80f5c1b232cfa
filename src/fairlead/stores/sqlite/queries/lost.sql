-- Jumps from owner to owner along the index of claims, then looks only at the jobs of those whose lease is over.
with recursive owners (owner) as (
    select min(owner) from claim
    union all
    select (select min(owner) from claim where owner > owners.owner)
    from owners
    where owners.owner is not null
)
select
    running.id, running.lane, running.attempt, running.crashes, :now - running.created_at,
    running.state, running.fence, running.owner, running.lease,
    running.cancel_by, running.cancel_reason, running.cancel_grace, running.options
from owners
cross join running on running.owner = owners.owner and running.shard = :shard
where not exists (select 1 from worker where worker.id = owners.owner and worker.lease_until > :now)
limit :limit
