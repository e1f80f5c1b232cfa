insert or replace into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, error_type, error_message, fingerprint, failure, replays, payload,
    result
)
select
    job.id, job.shard, job.lane, :state, :attempt, :crashes, job.fence, :held_owner, job.run_at, job.not_after,
    job.created_at, job.started_at, :now, job.parent, job.unique_key, job.options,
    :error_type, :error_message, :fingerprint, :failure, job.replays, job.payload, :result
from job
where job.id = :id and job.shard = :shard and job.state = :held_state and job.fence = :held_fence
    and job.claim is (select claim.id from claim where claim.owner = :held_owner and claim.lease = :held_lease)
    and (job.cancel_at is not null) = :held_cancelled
    and (
        not :expired_only
        or not exists (select 1 from worker where worker.id = :held_owner and worker.lease_until > :now)
    )
