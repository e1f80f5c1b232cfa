create table schema_version (
    version integer primary key,
    name text not null,
    applied_at real not null
);

-- Live jobs only: small, so that claims stay fast whatever the history holds.
create table job (
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
    payload text not null
);
create unique index job_id on job (id);
create index job_ready on job (shard, lane, ready_at, id) where state = 'ready';
create index job_running on job (shard, owner, lane) where state = 'running';
create index job_due on job (shard, run_at, id) where state in ('scheduled', 'retrying');

-- Finished jobs; retention deletes them along the index of their end.
create table job_history (
    id text not null,
    shard integer not null,
    lane integer not null,
    state text not null,
    attempt integer not null,
    crashes integer not null,
    fence integer not null,
    owner text,
    run_at real not null,
    not_after real,
    created_at real not null,
    started_at real,
    finished_at real not null,
    parent text,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    fingerprint text,
    replays integer not null default 0,
    payload text not null,
    result text
);
create unique index job_history_id on job_history (id);
create index job_history_dead on job_history (shard, id) where state = 'dead';
create index job_history_fingerprint on job_history (shard, fingerprint, id) where state = 'dead';
create index job_history_finished on job_history (finished_at);

-- Attempts that did not end their job well.
create table attempt (
    job_id text not null,
    shard integer not null,
    fence integer not null,
    attempt integer not null,
    owner text,
    started_at real,
    ended_at real not null,
    ending text not null,
    error_type text,
    error_message text,
    failure text,
    fingerprint text,
    traceback text
);
create index attempt_job on attempt (job_id, fence);

create table lane (
    id integer primary key,
    pool text not null,
    tenant text not null,
    type text not null,
    priority integer not null,
    version integer not null
);
create index lane_type on lane (type, tenant);

create table idempotency (
    tenant text not null,
    key text not null,
    shard integer not null,
    job_id text not null,
    scope text not null,
    expires_at real,
    primary key (tenant, key, shard)
);
create index idempotency_active on idempotency (job_id) where scope = 'active';
create index idempotency_expiring on idempotency (expires_at) where expires_at is not null;

create table job_type (
    name text primary key,
    version integer not null,
    pool text not null,
    schema text not null,
    settings text not null,
    updated_at real not null
);

create table worker (
    id text primary key,
    host text not null,
    pid integer not null,
    pools text not null,
    types text not null,
    slots integer not null,
    version text not null,
    state text not null,
    started_at real not null,
    lease_until real not null,
    report text not null
);

create table leader (
    role text primary key,
    identity text not null,
    term integer not null,
    lease_until real not null
);

-- What operators did. Append-only: each entry has the hash of the one before it, and the head has that of the last.
create table audit (
    id integer primary key,
    at real not null,
    actor text not null,
    action text not null,
    target text not null,
    details text not null,
    previous_hash text not null,
    hash text not null
);

-- The one row that appending locks, so that the chain has no forks.
create table audit_head (
    single integer primary key,
    last integer not null,
    hash text not null
);

-- Which entries are about a job.
create table audit_job (
    job_id text not null,
    audit_id integer not null,
    primary key (job_id, audit_id)
) without rowid;
