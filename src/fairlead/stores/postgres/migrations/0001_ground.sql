create table schema_version (
    version integer primary key,
    name text not null,
    applied_at timestamptz not null
);

-- Live jobs only: small, so that claims stay fast whatever the history holds.
create table job (
    id uuid not null,
    shard smallint not null,
    lane bigint not null,
    state text not null,
    attempt smallint not null,
    crashes smallint not null,
    fence bigint not null,
    owner uuid,
    lease uuid,
    run_at timestamptz not null,
    ready_at timestamptz,
    not_after timestamptz,
    created_at timestamptz not null,
    started_at timestamptz,
    parent uuid,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    replays smallint not null default 0,
    payload text not null,
    primary key (id, shard)
) with (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1
);
create index job_ready on job (shard, lane, ready_at, id) where state = 'ready';
create index job_running on job (shard, owner, lane) where state = 'running';
create index job_due on job (shard, run_at, id) where state in ('scheduled', 'retrying');

-- Finished jobs, by the day they finished, so that retention drops a partition.
create table job_history (
    id uuid not null,
    shard smallint not null,
    lane bigint not null,
    state text not null,
    attempt smallint not null,
    crashes smallint not null,
    fence bigint not null,
    owner uuid,
    run_at timestamptz not null,
    not_after timestamptz,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz not null,
    parent uuid,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    fingerprint text,
    replays smallint not null default 0,
    payload text not null,
    result text,
    primary key (id, finished_at, shard)
) partition by range (finished_at);
create index job_history_dead on job_history (shard, id) where state = 'dead';
create index job_history_fingerprint on job_history (shard, fingerprint, id) where state = 'dead';
create table job_history_rest partition of job_history default;

-- Attempts that did not end their job well, by the day they ended.
create table attempt (
    job_id uuid not null,
    shard smallint not null,
    fence bigint not null,
    attempt smallint not null,
    owner uuid,
    started_at timestamptz,
    ended_at timestamptz not null,
    ending text not null,
    error_type text,
    error_message text,
    failure text,
    fingerprint text,
    traceback text,
    primary key (job_id, fence, ended_at, shard)
) partition by range (ended_at);
create table attempt_rest partition of attempt default;

create table lane (
    id bigint primary key,
    pool text not null,
    tenant text not null,
    type text not null,
    priority smallint not null,
    version integer not null
);
create index lane_type on lane (type, tenant);

create table idempotency (
    tenant text not null,
    key text not null,
    shard smallint not null,
    job_id uuid not null,
    scope text not null,
    expires_at timestamptz,
    primary key (tenant, key, shard)
);

create table job_type (
    name text primary key,
    version integer not null,
    pool text not null,
    schema text not null,
    settings text not null,
    updated_at timestamptz not null
);

create table worker (
    id uuid primary key,
    host text not null,
    pid integer not null,
    pools text not null,
    types text not null,
    slots integer not null,
    version text not null,
    state text not null,
    started_at timestamptz not null,
    lease_until timestamptz not null,
    report text not null
) with (fillfactor = 50);

create table leader (
    role text primary key,
    identity uuid not null,
    term bigint not null,
    lease_until timestamptz not null
);

-- What operators did. Append-only: each entry has the hash of the one before it, and the head has that of the last.
create table audit (
    id bigint primary key,
    at timestamptz not null,
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
    last bigint not null,
    hash text not null
);

-- Which entries are about a job.
create table audit_job (
    job_id uuid not null,
    audit_id bigint not null,
    primary key (job_id, audit_id)
);
