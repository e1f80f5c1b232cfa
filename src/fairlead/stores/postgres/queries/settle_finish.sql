-- The guard is one tuple inside IS TRUE, so that the planner tests it by a hash on the rows found by primary key.
-- The joins repeat it: beside the settlement that holds, a batch may have a stale one of the same job.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(
        id uuid, held_state text, held_fence bigint, held_owner uuid, held_lease uuid,
        held_cancelled boolean, state text, attempt smallint,
        crashes smallint, result text, ending text, error_type text, error_message text, fingerprint text,
        traceback text, failure text, recorded boolean
    )
),
gone as (
    delete from job
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
    returning *
),
noted as (
    insert into attempt (
        job_id, shard, fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback,
        fingerprint, failure, due_at, ready_at
    )
    select
        gone.id, gone.shard, gone.fence, gone.attempt, gone.owner, gone.started_at, now(),
        r.ending, r.error_type, r.error_message, r.traceback, r.fingerprint, r.failure, gone.run_at, gone.ready_at
    from r join gone on gone.id = r.id and gone.state = r.held_state and gone.fence = r.held_fence
        and gone.lease is not distinct from r.held_lease and (gone.cancel_at is not null) = r.held_cancelled
    where r.recorded
)
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, error_type, error_message, fingerprint, failure, replays, payload,
    result
)
select
    gone.id, gone.shard, gone.lane, r.state, r.attempt, r.crashes, gone.fence, gone.owner, gone.run_at, gone.not_after,
    gone.created_at, gone.started_at, now(), gone.parent, gone.unique_key, gone.options,
    r.error_type, r.error_message, r.fingerprint, r.failure, gone.replays, gone.payload, r.result
from r join gone on gone.id = r.id and gone.state = r.held_state and gone.fence = r.held_fence
    and gone.lease is not distinct from r.held_lease and (gone.cancel_at is not null) = r.held_cancelled
returning id::text
