insert into attempt (
    job_id, shard, fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback,
    fingerprint, failure, due_at, ready_at
)
select
    job.id, job.shard, job.fence, job.attempt, :held_owner, job.started_at, :now,
    :ending, :error_type, :error_message, :traceback, :fingerprint, :failure, job.run_at, job.ready_at
from entry as job
where job.id = :id and job.shard = :shard and job.state = :held_state and job.fence = :held_fence
    and job.claim is (select claim.id from claim where claim.owner = :held_owner and claim.lease = :held_lease)
    and (job.cancel_at is not null) = :held_cancelled
    and (
        not :expired_only
        or not exists (select 1 from worker where worker.id = :held_owner and worker.lease_until > :now)
    )
