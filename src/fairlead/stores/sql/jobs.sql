-- name: insert_jobs
insert into job (
    id, shard, lane, state, attempt, crashes, fence,
    run_at, ready_at, not_after, created_at, parent, unique_key, options, payload
)
select
    r.id, :shard, r.lane, r.state, 0, 0, 0,
    coalesce(to_timestamp(r.run_at), now() + r.delay * interval '1 second'),
    case when r.state = 'ready' then now() end,
    to_timestamp(r.not_after), now(), r.parent, r.unique_key, r.options, r.payload
from json_to_recordset(:rows::json) as r(
    id uuid, lane bigint, state text, run_at float8, delay float8, not_after float8,
    parent uuid, unique_key text, options text, payload text
)
where true
on conflict do nothing

-- name: withdraw_finished
-- A repeated submission must not bring back a job that arrived the first time and has finished since.
delete from job
where shard = :shard
    and id in (select r.id from json_to_recordset(:rows::json) as r(id uuid))
    and fence = 0
    and exists (select from job_history where job_history.id = job.id and job_history.shard = :shard)

-- name: held
select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from job
where job.shard = :shard
    and job.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))

-- name: claimed_under
select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from json_to_recordset(:rows::json) as doubtful(owner uuid, lease uuid)
join job on job.shard = :shard and job.state = 'running' and job.owner = doubtful.owner and job.lease = doubtful.lease

-- name: late
select
    id::text, lane, attempt, crashes, date_part('epoch', now() - created_at),
    state, fence, owner::text, lease::text, cancel_by, cancel_reason, cancel_grace, options,
    date_part('epoch', now() - not_after)
from job
where shard = :shard and not_after is not null and state <> 'running' and not_after < now()
order by job.not_after, job.id
limit :limit

-- name: promote
update job
set state = 'ready', ready_at = now()
where shard = :shard
    and id = any(array(
        select due.id from job as due
        where due.shard = :shard and due.state in ('scheduled', 'retrying') and due.run_at <= now()
        order by due.run_at, due.id
        limit :limit
        for update skip locked
    ))
returning lane

-- name: count_ahead
-- Its own place comes as values, so that the planner walks the index of ready jobs whatever it believes of the table.
select count(*)
from (
    select
    from job
    where shard = :shard and state = 'ready'
        and lane = (select own.lane from job as own where own.shard = :shard and own.id = :id::uuid and own.state = 'ready')
        and (ready_at, id) < (
            (select own.ready_at from job as own where own.shard = :shard and own.id = :id::uuid), :id::uuid
        )
    limit :limit
) as ahead

-- name: amend_waiting
-- What becomes ready now is due now; what stays ready keeps its place in time.
update job
set lane = r.lane, state = r.state, payload = coalesce(r.payload, job.payload),
    run_at = case
        when r.run_at is not null then to_timestamp(r.run_at)
        when r.state = 'ready' and job.state <> 'ready' then now()
        else job.run_at
    end,
    ready_at = case when r.state = 'ready' then coalesce(job.ready_at, now()) end
from json_to_recordset(:rows::json) as r(
    id uuid, held_state text, fence bigint, lane bigint, state text, run_at float8, payload text
)
where job.shard = :shard and job.id = r.id
    and job.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
    and job.state = r.held_state and job.fence = r.fence
returning job.id::text

-- name: request_cancel
-- Rows that somebody has locked are about to change: they are passed over, and the caller looks at them again.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(
        id uuid, held_state text, held_fence bigint, held_owner uuid, held_lease uuid, cancel_by text,
        cancel_reason text, cancel_grace float8
    )
),
held as materialized (
    select job.id, job.fence from job
    where job.shard = :shard
        and job.id = any(array(select id from r))
        and (
            (job.id, job.state, job.fence, job.owner, job.lease) in (
                select id, held_state, held_fence, held_owner, held_lease from r
            )
        ) is true
    order by job.id
    for update skip locked
)
update job
set cancel_at = coalesce(job.cancel_at, now()), cancel_by = r.cancel_by, cancel_reason = r.cancel_reason,
    cancel_grace = r.cancel_grace
from r join held on held.id = r.id and held.fence = r.held_fence
where job.shard = :shard and job.id = held.id and job.id = any(array(select id from r))
returning job.id::text

-- name: cancel_requests
select job.id::text, job.fence, job.cancel_by, job.cancel_reason, job.cancel_grace
from job
where job.shard = :shard and job.state = 'running' and job.owner = :owner::uuid and job.cancel_at is not null

-- name: remember_effect
-- The job's row is locked against settlements, so that nothing is remembered for a run that is over. What was
-- remembered first stays.
with held as materialized (
    select job.id, job.shard, job.fence from job
    where job.id = :id::uuid and job.shard = :shard
        and (job.state, job.fence, job.owner, job.lease)
            is not distinct from ('running', :fence::bigint, :owner::uuid, :lease::uuid)
    for share
)
insert into effect (job_id, shard, name, result, fence, remembered_at)
select held.id, held.shard, :effect, :result, held.fence, now() from held
where true
on conflict (job_id, name, shard) do update set name = excluded.name
returning result

-- name: recall_effect
select result from effect where job_id = :id::uuid and name = :effect and shard = :shard

-- name: read_ended
select
    job_history.id::text, job_history.state, job_history.attempt, job_history.fence,
    date_part('epoch', job_history.created_at), date_part('epoch', job_history.run_at),
    date_part('epoch', job_history.not_after), date_part('epoch', job_history.started_at),
    date_part('epoch', job_history.finished_at), job_history.unique_key, job_history.result, job_history.error_type,
    job_history.error_message, job_history.options,
    lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits
from job_history
join lane on lane.id = job_history.lane
where job_history.shard = :shard
    and job_history.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
    and job_history.finished_at = now()
    and job_history.options is not null
