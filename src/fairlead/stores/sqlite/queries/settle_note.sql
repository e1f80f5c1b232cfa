insert into attempt (
    job_id, shard, fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback,
    fingerprint, failure, due_at, ready_at
)
select
    job.id, job.shard, job.fence, job.attempt, job.owner, job.started_at, :now,
    :ending, :error_type, :error_message, :traceback, :fingerprint, :failure, job.run_at, job.ready_at
from job
where job.id = :id and job.shard = :shard and job.state = :held_state and job.fence = :held_fence
    and job.owner is :held_owner and job.lease is :held_lease
    and (job.cancel_at is not null) = :held_cancelled
    and (
        not :expired_only
        or not exists (select 1 from worker where worker.id = job.owner and worker.lease_until > :now)
    )
