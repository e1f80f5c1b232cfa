-- name: insert_plain
-- The common case, many at once: jobs that are ready now and carry nothing but their arguments.
insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
select value ->> 0, :shard, value ->> 1, 'ready', 0, 0, 0, :now, :now, :now, value ->> 2
from json_each(:rows)
where true
on conflict do nothing

-- name: pick
-- The places of the first `most` ready jobs of each lane, a list for each as one text.
select group_concat(places)
from (
    select
        (
            select '[' || coalesce(group_concat(place), '') || ']'
            from (
                select rowid as place from job
                where shard = :shard and lane = quota.value and state = 'ready'
                order by ready_at, id
                limit :most
            )
        ) as places
    from json_each(:lanes) as quota
)

-- name: claim
update job
set state = 'running', owner = :owner, lease = :lease, fence = fence + 1, attempt = attempt + 1, started_at = :now
where rowid in (select value from json_each(:places))

-- name: read_claimed
-- One row with all that a worker needs to know about the jobs of a claim.
select
    json_group_array(
        json_array(
            id, lane, payload, attempt, crashes, fence, ready_at, :now - created_at, not_after - :now, unique_key, options
        )
    )
from job
where rowid in (select value from json_each(:places))

-- name: succeeded
-- Which of these jobs the transaction has just ended under this owner.
select json_group_array(job.id)
from json_each(:rows) as r
cross join job_history as job on job.id = r.value ->> 0 and job.shard = :shard
where +job.state = 'succeeded' and +job.fence = r.value ->> 1 and +job.owner = :owner and +job.finished_at = :now

-- name: changes
select changes()

-- name: succeed
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, replays, payload, result
)
select
    job.id, job.shard, job.lane, 'succeeded', job.attempt, job.crashes, job.fence, job.owner, job.run_at, job.not_after,
    job.created_at, job.started_at, :now, job.parent, job.unique_key, job.options, job.replays, job.payload,
    r.value ->> 2
from json_each(:rows) as r
cross join job on job.id = r.value ->> 0 and job.shard = :shard
where +job.state = 'running' and +job.fence = r.value ->> 1 and +job.owner = :owner and +job.lease = :lease

-- name: settle_held
-- Which of these settlements hold, by their position.
select json_group_array(r.key)
from json_each(:rows) as r
cross join job on job.id = r.value ->> 'id' and job.shard = :shard
where +job.state = r.value ->> 'held_state' and +job.fence = r.value ->> 'held_fence'
    and +job.owner is r.value ->> 'held_owner' and +job.lease is r.value ->> 'held_lease'
    and (job.cancel_at is not null) = r.value ->> 'held_cancelled'
    and (
        not :expired_only
        or not exists (select 1 from worker where worker.id = job.owner and worker.lease_until > :now)
    )

-- name: settle_noted
insert into attempt (
    job_id, shard, fence, attempt, owner, started_at, ended_at, ending, error_type, error_message, traceback,
    fingerprint, failure, due_at, ready_at
)
select
    job.id, job.shard, job.fence, job.attempt, job.owner, job.started_at, :now,
    r.value ->> 'ending', r.value ->> 'error_type', r.value ->> 'error_message', r.value ->> 'traceback',
    r.value ->> 'fingerprint', r.value ->> 'failure', job.run_at, job.ready_at
from json_each(:rows) as r
cross join job on job.id = r.value ->> 'id' and job.shard = :shard
where r.value ->> 'recorded'

-- name: settle_finished
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, error_type, error_message, fingerprint, failure, replays, payload, result
)
select
    job.id, job.shard, job.lane, r.value ->> 'state', r.value ->> 'attempt', r.value ->> 'crashes', job.fence, job.owner,
    job.run_at, job.not_after, job.created_at, job.started_at, :now, job.parent, job.unique_key, job.options,
    r.value ->> 'error_type', r.value ->> 'error_message', r.value ->> 'fingerprint', r.value ->> 'failure',
    job.replays, job.payload, r.value ->> 'result'
from json_each(:rows) as r
cross join job on job.id = r.value ->> 'id' and job.shard = :shard
where r.value ->> 'final'

-- name: settle_returned
update job
set state = r.state, attempt = r.attempt, crashes = r.crashes, owner = null, lease = null,
    run_at = case when r.state = 'ready' then job.run_at else :now + r.delay end,
    ready_at = case when r.state = 'ready' then :now end,
    error_type = coalesce(r.error_type, job.error_type),
    error_message = coalesce(r.error_message, job.error_message), failure = coalesce(r.failure, job.failure)
from (
    select
        value ->> 'id' as id, value ->> 'state' as state, value ->> 'attempt' as attempt, value ->> 'crashes' as crashes,
        value ->> 'delay' as delay, value ->> 'error_type' as error_type, value ->> 'error_message' as error_message,
        value ->> 'failure' as failure
    from json_each(:rows)
    where not value ->> 'final'
) as r
where job.id = r.id and job.shard = :shard

-- name: remove_finished
delete from job where shard = :shard and id in (select value from json_each(:ids))

-- name: lost
-- Jumps from owner to owner along the index of running jobs, then looks only at the jobs of those whose lease is over.
with recursive owners (owner) as (
    select min(owner) from job where shard = :shard and state = 'running'
    union all
    select (select min(owner) from job where shard = :shard and state = 'running' and owner > owners.owner)
    from owners
    where owners.owner is not null
)
select
    job.id, job.lane, job.attempt, job.crashes, :now - job.created_at, job.state, job.fence, job.owner, job.lease,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from owners
cross join job on job.shard = :shard and job.state = 'running' and job.owner = owners.owner
where not exists (select 1 from worker where worker.id = owners.owner and worker.lease_until > :now)
limit :limit

-- name: promote_lanes
update job
set state = 'ready', ready_at = :now
where rowid in (
    select due.rowid from job as due indexed by job_due_lane
    where due.shard = :shard and due.lane = :lane and due.state in ('scheduled', 'retrying')
        and due.run_at >= :since and due.run_at <= :now
    order by due.run_at, due.id
    limit :most
)
returning lane

-- name: due
-- The first due jobs by lane, and without a lane the first that is not due yet.
with due as materialized (
    select lane, run_at from job
    where shard = :shard and state in ('scheduled', 'retrying') and run_at <= :now
    order by run_at, id
    limit :limit
),
following as materialized (
    select run_at from job
    where shard = :shard and state in ('scheduled', 'retrying') and run_at > :now
    order by run_at limit 1
)
select lane, count(*), min(run_at), :now - min(run_at) from due group by lane
union all
select null, 0, null, :now - run_at from following

-- name: due_lanes
-- Jumps from lane to lane along the index of waiting jobs: the cost is that of the lanes, not of the jobs.
with recursive waiting (lane) as (
    select min(lane) from job where shard = :shard and state in ('scheduled', 'retrying')
    union all
    select (
        select min(lane) from job
        where shard = :shard and state in ('scheduled', 'retrying') and lane > waiting.lane
    )
    from waiting
    where waiting.lane is not null
)
select lane, since
from (
    select
        waiting.lane,
        (
            select min(run_at) from job
            where shard = :shard and state in ('scheduled', 'retrying') and lane = waiting.lane
        ) as since
    from waiting
    where waiting.lane is not null
)
where since <= :now

-- name: active_lanes
-- Jumps from lane to lane along the index of ready jobs: the cost is that of the active lanes, not of the jobs. The
-- given lanes are left out.
with recursive active (lane) as (
    select min(lane) from job where shard = :shard and state = 'ready'
    union all
    select (select min(lane) from job where shard = :shard and state = 'ready' and lane > active.lane)
    from active
    where active.lane is not null
)
select
    active.lane,
    (select min(ready_at) from job where shard = :shard and state = 'ready' and lane = active.lane)
from active
where active.lane is not null and active.lane not in (select value from json_each(:lanes))

-- name: lane_depths
-- Jumps from lane to lane, as active_lanes does, and counts along the index in each.
with recursive active (lane) as (
    select min(lane) from job where shard = :shard and state = 'ready'
    union all
    select (select min(lane) from job where shard = :shard and state = 'ready' and lane > active.lane)
    from active
    where active.lane is not null
)
select
    active.lane,
    (select min(ready_at) from job where shard = :shard and state = 'ready' and lane = active.lane),
    (
        select count(*)
        from (select 1 from job where shard = :shard and state = 'ready' and lane = active.lane limit :most)
    )
from active
where active.lane is not null

-- name: report_progress
insert into progress (job_id, shard, fence, done, total, message, at)
select job.id, job.shard, job.fence, r.value ->> 'done', r.value ->> 'total', r.value ->> 'message', :now
from json_each(:rows) as r
cross join job on job.id = r.value ->> 'id' and job.shard = :shard
where +job.fence = r.value ->> 'fence' and +job.state = 'running'
    and +job.owner = r.value ->> 'owner' and +job.lease = r.value ->> 'lease'
on conflict (job_id, shard) do update
set fence = excluded.fence, done = excluded.done, total = excluded.total, message = excluded.message, at = excluded.at
where progress.fence <= excluded.fence
returning job_id
