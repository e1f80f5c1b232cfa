-- name: dead_groups
with found as (
    select
        job.fingerprint, lane.type, count(*) as jobs, count(distinct lane.tenant) as tenants,
        min(job.finished_at) as first_at, max(job.finished_at) as last_at, max(job.id::text) as sample
    from job_history as job join lane on lane.id = job.lane
    where job.shard = :shard and job.state = 'dead'
        and (:key::text is null or job.unique_key = :key)
        and (:type::text is null or lane.type = :type)
        and (:tenant::text is null or lane.tenant = :tenant)
        and (:pool::text is null or lane.pool = :pool)
        and (:priority::smallint is null or lane.priority = :priority)
        and (:error_type::text is null or job.error_type = :error_type)
        and (:fingerprint::text is null or job.fingerprint = :fingerprint)
        and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
        and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
    group by job.fingerprint, lane.type
    order by jobs desc, last_at desc, sample desc
    limit :limit
)
select
    found.fingerprint, found.type, newest.error_type, coalesce(newest.error_message, ''), found.sample,
    found.jobs, found.tenants, date_part('epoch', found.first_at), date_part('epoch', found.last_at)
from found
join job_history as newest on newest.id = found.sample::uuid and newest.shard = :shard and newest.state = 'dead'
order by found.jobs desc, found.last_at desc, found.sample desc

-- name: dead_trend
select
    job.fingerprint, lane.type, cast(floor(date_part('epoch', now() - job.finished_at) / :width::float8) as integer) as ago, count(*)
from job_history as job join lane on lane.id = job.lane
where job.shard = :shard and job.state = 'dead'
    and (:key::text is null or job.unique_key = :key)
    and (:type::text is null or lane.type = :type)
    and (:tenant::text is null or lane.tenant = :tenant)
    and (:pool::text is null or lane.pool = :pool)
    and (:priority::smallint is null or lane.priority = :priority)
    and (:error_type::text is null or job.error_type = :error_type)
    and (:fingerprint::text is null or job.fingerprint = :fingerprint)
    and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
    and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
    and job.finished_at > now() - :width::float8 * :parts * interval '1 second' and job.finished_at <= now()
group by job.fingerprint, lane.type, ago

-- name: lock_dead
-- The state comes as a value: written out, it would let the planner read the whole index of dead jobs.
-- Locked, so that what holds now still holds when the keys have been taken.
select job.id::text, job.fence, coalesce(job.not_after < now(), false)
from job_history as job
join json_to_recordset(:rows::json) as r(id uuid, fence bigint, finished_at timestamptz, held_state text)
    on r.id = job.id and r.fence = job.fence and r.finished_at = job.finished_at and r.held_state = job.state
where job.shard = :shard
    and job.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
order by job.id
for update of job

-- name: revive
insert into job (
    id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, not_after, created_at, parent, unique_key,
    options, replays, payload
)
select
    dead.id, dead.shard, r.lane, r.state, 0, 0, dead.fence, dead.run_at, now(), dead.not_after, dead.created_at,
    dead.parent, dead.unique_key, dead.options, least(dead.replays + 1, 32767), coalesce(r.payload, dead.payload)
from json_to_recordset(:rows::json) as r(
    id uuid, held_state text, fence bigint, finished_at timestamptz, lane bigint, state text, payload text
)
join job_history as dead on dead.id = r.id and dead.shard = :shard and dead.state = r.held_state
    and dead.fence = r.fence and dead.finished_at = r.finished_at
returning id::text

-- name: remove_revived
delete from job_history
where shard = :shard and id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))

-- name: amend_dead
-- The state comes as a value: written out, it would let the planner read the whole index of dead jobs.
update job_history
set lane = r.lane, payload = r.payload
from json_to_recordset(:rows::json) as r(
    id uuid, fence bigint, finished_at timestamptz, held_state text, lane bigint, payload text
)
where job_history.shard = :shard and job_history.id = r.id and job_history.state = r.held_state
    and job_history.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
    and job_history.fence = r.fence and job_history.finished_at = r.finished_at
returning job_history.id::text

-- name: cancel_dead
-- The state comes as a value: written out, it would let the planner read the whole index of dead jobs.
update job_history
set state = r.state
from json_to_recordset(:rows::json) as r(id uuid, fence bigint, finished_at timestamptz, held_state text, state text)
where job_history.shard = :shard and job_history.id = r.id and job_history.state = r.held_state
    and job_history.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
    and job_history.fence = r.fence and job_history.finished_at = r.finished_at
returning job_history.id::text

-- name: purge_dead
delete from job_history
where state = 'dead' and (id, finished_at, shard) in (
    select job.id, job.finished_at, job.shard
    from job_history as job join lane on lane.id = job.lane
    where job.shard = :shard and job.state = 'dead'
        and job.finished_at < now() - :older_than * interval '1 second'
        and (:key::text is null or job.unique_key = :key)
        and (:type::text is null or lane.type = :type)
        and (:tenant::text is null or lane.tenant = :tenant)
        and (:pool::text is null or lane.pool = :pool)
        and (:priority::smallint is null or lane.priority = :priority)
        and (:error_type::text is null or job.error_type = :error_type)
        and (:fingerprint::text is null or job.fingerprint = :fingerprint)
        and (:finished_after::float8 is null or job.finished_at >= to_timestamp(:finished_after))
        and (:finished_before::float8 is null or job.finished_at < to_timestamp(:finished_before))
    limit :limit
)
returning id::text

-- name: remove_dead
-- The state comes as a value: written out, it would let the planner read the whole index of dead jobs.
delete from job_history
where shard = :shard and (id, state, fence, finished_at) in (
    select r.id, r.held_state, r.fence, r.finished_at
    from json_to_recordset(:rows::json) as r(id uuid, held_state text, fence bigint, finished_at timestamptz)
)
returning id::text

-- name: purge_attempts
delete from attempt
where shard = :shard and job_id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))

-- name: purge_effects
delete from effect
where shard = :shard and job_id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))

-- name: purge_progress
delete from progress
where shard = :shard and job_id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))

-- name: lock_audit
insert into audit_head (single, last, hash)
values (1, 0, '')
on conflict (single) do update set single = excluded.single
returning last, hash, date_part('epoch', now())

-- name: append_audit
insert into audit (id, at, actor, action, target, details, previous_hash, hash)
values (:id, to_timestamp(:at), :actor, :action, :target, :details, :previous_hash, :hash)

-- name: move_audit_head
update audit_head set last = :id, hash = :hash where single = 1

-- name: mark_audit
insert into audit_job (job_id, audit_id)
select r.job_id, r.audit_id
from json_to_recordset(:rows::json) as r(job_id uuid, audit_id bigint)
where true
on conflict do nothing

-- name: read_audit
select
    audit.id, date_part('epoch', audit.at), audit.actor, audit.action, audit.target, audit.details,
    audit.previous_hash, audit.hash
from audit
where (:cursor::bigint is null or audit.id < :cursor)
order by audit.id desc
limit :limit

-- name: read_audit_of
select
    audit.id, date_part('epoch', audit.at), audit.actor, audit.action, audit.target, audit.details,
    audit.previous_hash, audit.hash
from audit_job join audit on audit.id = audit_job.audit_id
where audit_job.job_id = :job_id::uuid and (:cursor::bigint is null or audit.id < :cursor)
order by audit.id desc
limit :limit

-- name: audit_about
select
    audit.id, date_part('epoch', audit.at), audit.actor, audit.action, audit.target, audit.details,
    audit.previous_hash, audit.hash
from audit
where audit.target = :target
order by audit.id desc
limit :limit

-- name: read_audit_head
select last, hash from audit_head where single = 1
