-- The common case, many at once: jobs of one claim that succeeded. The plus signs leave only the index of ids.
insert or replace into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, replays, payload, result
)
select
    job.id, job.shard, job.lane, 'succeeded', job.attempt, job.crashes, job.fence, :owner, job.run_at,
    job.not_after, job.created_at, job.started_at, :now, job.parent, job.unique_key, job.options, job.replays,
    job.payload, r.value ->> 2
from json_each(:rows) as r
cross join job
where job.id = r.value ->> 0 and +job.fence = r.value ->> 1
    and +job.shard = :shard and +job.state = 'running'
    and job.claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
