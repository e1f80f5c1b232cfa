update entry as job
set state = :state, aside = nullif(:state, 'ready'), attempt = :attempt, crashes = :crashes, claim = null,
    run_at = case when :state = 'ready' then run_at else :now + :delay end,
    ready_at = case when :state = 'ready' then :now end,
    error_type = coalesce(:error_type, error_type), error_message = coalesce(:error_message, error_message),
    failure = coalesce(:failure, failure)
where job.id = :id and job.shard = :shard and job.state = :held_state and job.fence = :held_fence
    and job.claim is (select claim.id from claim where claim.owner = :held_owner and claim.lease = :held_lease)
    and (job.cancel_at is not null) = :held_cancelled
    and (
        not :expired_only
        or not exists (select 1 from worker where worker.id = :held_owner and worker.lease_until > :now)
    )
