-- Each job has a place in its table that nothing changes, so that what was claimed is settled without looking for it.
create table placed_job (
    place integer primary key,
    id text not null,
    shard integer not null,
    lane integer not null,
    state text not null,
    attempt integer not null,
    crashes integer not null,
    fence integer not null,
    owner text,
    lease text,
    run_at real not null,
    ready_at real,
    not_after real,
    created_at real not null,
    started_at real,
    parent text,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    replays integer not null default 0,
    payload text not null,
    cancel_at real,
    cancel_grace real,
    cancel_by text,
    cancel_reason text
);
insert into placed_job (
    place, id, shard, lane, state, attempt, crashes, fence, owner, lease, run_at, ready_at, not_after, created_at,
    started_at, parent, unique_key, options, error_type, error_message, failure, replays, payload, cancel_at,
    cancel_grace, cancel_by, cancel_reason
)
select
    rowid, id, shard, lane, state, attempt, crashes, fence, owner, lease, run_at, ready_at, not_after, created_at,
    started_at, parent, unique_key, options, error_type, error_message, failure, replays, payload, cancel_at,
    cancel_grace, cancel_by, cancel_reason
from job;
drop table job;
alter table placed_job rename to job;
create unique index job_id on job (id);
create index job_ready on job (shard, lane, ready_at, id) where state = 'ready';
create index job_running on job (shard, owner, lane) where state = 'running';
create index job_due on job (shard, run_at, id) where state in ('scheduled', 'retrying');
create index job_due_lane on job (shard, lane, run_at, id) where state in ('scheduled', 'retrying');
create index job_not_after on job (shard, not_after, id) where not_after is not null and state <> 'running';
