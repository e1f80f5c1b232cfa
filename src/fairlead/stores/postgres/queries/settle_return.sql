-- The guard is one tuple inside IS TRUE, so that the planner tests it by a hash on the rows found by primary key.
-- The joins repeat it: beside the settlement that holds, a batch may have a stale one of the same job.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(
        id uuid, held_state text, held_fence bigint, held_owner uuid, held_lease uuid,
        held_cancelled boolean, state text, attempt smallint,
        crashes smallint, delay float8, ending text, error_type text, error_message text, fingerprint text,
        traceback text, failure text, recorded boolean
    )
),
held as materialized (
    select * from job
    where shard = :shard
        and id = any(array(select id from r))
        and (
            (
                id, state, fence, coalesce(owner, :nobody::uuid), coalesce(lease, :nobody::uuid), cancel_at is not null
            ) in (
                select
                    id, held_state, held_fence, coalesce(held_owner, :nobody::uuid), coalesce(held_lease, :nobody::uuid),
                    held_cancelled
                from r
            )
        ) is true
        and (
            not :expired_only::boolean
            or not exists (select from worker where worker.id = job.owner and worker.lease_until > now())
        )
    order by id
    for update
),
noted as (
    insert into attempt (
        job_id, shard, fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback,
        fingerprint, failure, due_at, ready_at
    )
    select
        held.id, held.shard, held.fence, held.attempt, held.owner, held.started_at, now(),
        r.ending, r.error_type, r.error_message, r.traceback, r.fingerprint, r.failure, held.run_at, held.ready_at
    from r join held on held.id = r.id and held.state = r.held_state and held.fence = r.held_fence
        and held.lease is not distinct from r.held_lease and (held.cancel_at is not null) = r.held_cancelled
    where r.recorded
)
update job
set state = r.state, attempt = r.attempt, crashes = r.crashes, owner = null, lease = null,
    run_at = case when r.state = 'ready' then job.run_at else now() + r.delay * interval '1 second' end,
    ready_at = case when r.state = 'ready' then now() end,
    error_type = coalesce(r.error_type, job.error_type), error_message = coalesce(r.error_message, job.error_message),
    failure = coalesce(r.failure, job.failure)
from r join held on held.id = r.id and held.state = r.held_state and held.fence = r.held_fence
    and held.lease is not distinct from r.held_lease and (held.cancel_at is not null) = r.held_cancelled
where job.shard = :shard and job.id = held.id and job.id = any(array(select id from r))
returning job.id::text
