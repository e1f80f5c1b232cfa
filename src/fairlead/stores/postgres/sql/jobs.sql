-- name: insert_plain
-- The common case, many at once: jobs that are ready now and carry nothing but their arguments, with hints that leave
-- with the commit.
with stored as (
    insert into job (id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload)
    select r.id, :shard, r.lane, 'ready', 0, 0, 0, now(), now(), now(), r.payload
    from unnest(:ids::uuid[], :lanes::bigint[], :payloads::text[]) as r(id, lane, payload)
)
select pg_notify('fairlead', pool) from json_array_elements_text(:pools::json) as pool

-- name: claim
-- What was picked is locked, so that its place in the table stays.
with picked as materialized (
    select ready.place
    from json_to_recordset(:rows::json) as quota(lane bigint, most integer, since float8)
    cross join lateral (
        select job.ctid as place from job
        where job.shard = :shard and job.lane = quota.lane and job.state = 'ready'
            and job.ready_at >= to_timestamp(quota.since)
        order by job.ready_at, job.id
        limit quota.most
        for update skip locked
    ) as ready
)
update job
set state = 'running', owner = :owner::uuid, lease = :lease::uuid,
    fence = fence + 1, attempt = attempt + 1, started_at = now()
where ctid = any(array(select place from picked))
returning
    id::text, lane, payload, attempt, crashes, fence,
    date_part('epoch', ready_at), date_part('epoch', now() - created_at), date_part('epoch', not_after - now()),
    unique_key, options

-- name: settle_succeeded
-- The common case, many at once: jobs of one claim that succeeded. The guard is written so that no index but the primary
-- key can serve it.
with r as materialized (
    select * from unnest(:ids::uuid[], :fences::bigint[], :results::text[]) as r(id, fence, result)
),
gone as (
    delete from job
    where shard = :shard
        and id = any(:ids::uuid[])
        and (state, owner, lease) is not distinct from ('running', :owner::uuid, :lease::uuid)
        and ((id, fence) in (select id, fence from r)) is true
    returning *
)
insert into job_history (
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, replays, payload, result
)
select
    gone.id, gone.shard, gone.lane, 'succeeded', gone.attempt, gone.crashes, gone.fence, gone.owner, gone.run_at,
    gone.not_after, gone.created_at, gone.started_at, now(), gone.parent, gone.unique_key, gone.options, gone.replays,
    gone.payload, r.result
from r join gone on gone.id = r.id
returning id::text

-- name: settle
-- Any other end of a run, or of a wait: the job moves to the history, or waits again. The guard is one tuple inside IS
-- TRUE, so that the planner tests it by a hash on the rows found by primary key. The join repeats it: beside the
-- settlement that holds, a batch may have a stale one of the same job.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(
        id uuid, held_state text, held_fence bigint, held_owner uuid, held_lease uuid, held_cancelled boolean,
        state text, final boolean, attempt smallint, crashes smallint, delay float8, result text, ending text,
        error_type text, error_message text, fingerprint text, traceback text, failure text, recorded boolean
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
),
finished as (
    insert into job_history (
        id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
        parent, unique_key, options, error_type, error_message, fingerprint, failure, replays, payload, result
    )
    select
        held.id, held.shard, held.lane, r.state, r.attempt, r.crashes, held.fence, held.owner, held.run_at,
        held.not_after, held.created_at, held.started_at, now(), held.parent, held.unique_key, held.options,
        r.error_type, r.error_message, r.fingerprint, r.failure, held.replays, held.payload, r.result
    from r join held on held.id = r.id and held.state = r.held_state and held.fence = r.held_fence
        and held.lease is not distinct from r.held_lease and (held.cancel_at is not null) = r.held_cancelled
    where r.final
    returning id
),
gone as (
    delete from job where shard = :shard and id = any(array(select id from finished))
),
returned as (
    update job
    set state = r.state, attempt = r.attempt, crashes = r.crashes, owner = null, lease = null,
        run_at = case when r.state = 'ready' then job.run_at else now() + r.delay * interval '1 second' end,
        ready_at = case when r.state = 'ready' then now() end,
        error_type = coalesce(r.error_type, job.error_type),
        error_message = coalesce(r.error_message, job.error_message), failure = coalesce(r.failure, job.failure)
    from r join held on held.id = r.id and held.state = r.held_state and held.fence = r.held_fence
        and held.lease is not distinct from r.held_lease and (held.cancel_at is not null) = r.held_cancelled
    where not r.final and job.shard = :shard and job.id = held.id and job.id = any(array(select id from r))
)
select id::text from held

-- name: lost
-- Looks only between the numbers of live workers: what these have run lately fills the index until it is vacuumed. The
-- inner limit keeps the planner from going through all running jobs first, however few it takes them for.
with live as (
    select id from worker where lease_until > now()
    union all
    select null
),
gaps as (
    select id as low, lead(id) over (order by id nulls first) as high from live
)
select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from gaps
cross join lateral (
    select * from job
    where shard = :shard and state = 'running'
        and owner > coalesce(gaps.low, '00000000-0000-0000-0000-000000000000')
        and owner < coalesce(gaps.high, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    order by owner
    limit :limit
) as job
limit :limit

-- name: promote_lanes
-- The lane and the time are compared as one row, which only the index by lane can look up: the one by time alone would
-- be read from the start of what is due, past the jobs of all other lanes.
with picked as materialized (
    select due.id
    from json_to_recordset(:rows::json) as quota(lane bigint, most integer, since float8)
    cross join lateral (
        select job.id from job
        where job.shard = :shard and job.state in ('scheduled', 'retrying')
            and (job.lane, job.run_at) >= (quota.lane, to_timestamp(quota.since))
            and (job.lane, job.run_at) <= (quota.lane, now())
        order by job.lane, job.run_at, job.id
        limit quota.most
        for update skip locked
    ) as due
)
update job
set state = 'ready', ready_at = now()
where shard = :shard and id = any(array(select id from picked))
returning lane

-- name: due
-- The first due jobs by lane, and without a lane the first that is not due yet.
with due as materialized (
    select lane, run_at from job
    where shard = :shard and state in ('scheduled', 'retrying') and run_at <= now()
    order by run_at, id
    limit :limit
)
select lane, count(*), date_part('epoch', min(run_at)), date_part('epoch', now() - min(run_at)) from due group by lane
union all
(
    select null, 0, null, date_part('epoch', now() - run_at) from job
    where shard = :shard and state in ('scheduled', 'retrying') and run_at > now()
    order by run_at limit 1
)

-- name: due_lanes
-- Jumps from lane to lane along the index of waiting jobs: the cost is that of the lanes, not of the jobs.
with recursive waiting as (
    (
        select lane, run_at from job
        where shard = :shard and state in ('scheduled', 'retrying')
        order by lane, run_at limit 1
    )
    union all
    select following.lane, following.run_at
    from waiting
    cross join lateral (
        select lane, run_at from job
        where shard = :shard and state in ('scheduled', 'retrying') and lane > waiting.lane
        order by lane, run_at limit 1
    ) as following
)
select lane, date_part('epoch', run_at) from waiting where run_at <= now()

-- name: active_lanes
-- Jumps from lane to lane along the index of ready jobs: the cost is that of the active lanes, not of the jobs. The given
-- lanes are jumped over: what was claimed of a busy one fills the index until it is vacuumed, and whoever knows that it
-- is busy need not read all that.
with recursive gaps as (
    select lane as low, lead(lane, 1, 9223372036854775807) over (order by lane) as high
    from (
        select -1::bigint
        union all
        select value::bigint from json_array_elements_text(:lanes::json) as given(value)
    ) as known(lane)
),
active as (
    select first.lane, first.ready_at, gaps.high
    from gaps
    cross join lateral (
        select lane, ready_at from job
        where shard = :shard and state = 'ready' and lane > gaps.low and lane < gaps.high
        order by lane, ready_at limit 1
    ) as first
    union all
    select following.lane, following.ready_at, active.high
    from active
    cross join lateral (
        select lane, ready_at from job
        where shard = :shard and state = 'ready' and lane > active.lane and lane < active.high
        order by lane, ready_at limit 1
    ) as following
)
select lane, date_part('epoch', ready_at) from active

-- name: lane_depths
-- Jumps from lane to lane, as active_lanes does, and counts along the index in each.
with recursive active as (
    (
        select lane, ready_at from job
        where shard = :shard and state = 'ready'
        order by lane, ready_at limit 1
    )
    union all
    select following.lane, following.ready_at
    from active
    cross join lateral (
        select lane, ready_at from job
        where shard = :shard and state = 'ready' and lane > active.lane
        order by lane, ready_at limit 1
    ) as following
)
select active.lane, date_part('epoch', active.ready_at), counted.depth
from active
cross join lateral (
    select count(*) as depth
    from (select 1 from job where shard = :shard and state = 'ready' and lane = active.lane limit :most) as ready
) as counted

-- name: report_progress
-- No lock is taken on the job: what a run reports just before it ends is as true a moment later, and an older run never
-- replaces a newer one.
insert into progress (job_id, shard, fence, done, total, message, at)
select held.id, held.shard, held.fence, r.done, r.total, r.message, now()
from json_to_recordset(:rows::json) as r(
    id uuid, fence bigint, owner uuid, lease uuid, done float8, total float8, message text
)
cross join lateral (
    select job.id, job.shard, job.fence from job
    where job.id = r.id and job.shard = :shard
        and (job.state, job.fence, job.owner, job.lease) is not distinct from ('running', r.fence, r.owner, r.lease)
    limit 1
) as held
order by held.id
on conflict (job_id, shard) do update
set fence = excluded.fence, done = excluded.done, total = excluded.total, message = excluded.message, at = excluded.at
where progress.fence <= excluded.fence
returning job_id::text

-- name: hint
select pg_notify('fairlead', :pool)

-- name: notify
-- A hint needs no flush of the disk, so its transaction does without.
select pg_notify('fairlead', :pool)
from (select set_config('synchronous_commit', 'off', true)) as unflushed
