create table schema_version (
    version integer primary key,
    name text not null,
    applied_at timestamptz not null
);

-- Live jobs only: small, so that claims stay fast whatever the history holds. First the columns that a claim leaves alone
-- and that always take as much, then those that it changes, last those that few jobs have. A claim writes a job anew:
-- with room in its page no index but that of ready jobs is touched, and less is logged.
create table job (
    id uuid not null,
    lane bigint not null,
    run_at timestamptz not null,
    created_at timestamptz not null,
    ready_at timestamptz,
    shard smallint not null,
    crashes smallint not null,
    replays smallint not null default 0,
    attempt smallint not null,
    fence bigint not null,
    started_at timestamptz,
    owner uuid,
    lease uuid,
    state text not null,
    payload text not null,
    not_after timestamptz,
    parent uuid,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    cancel_at timestamptz,
    cancel_grace float8,
    cancel_by text,
    cancel_reason text
) with (
    fillfactor = 42,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1
);
alter table job add constraint job_pkey primary key (id, shard) with (fillfactor = 42);
create index job_ready on job (shard, lane, ready_at, id) where state = 'ready';
create index job_running on job (shard, owner, lane) where state = 'running';
create index job_due on job (shard, run_at, id) where state in ('scheduled', 'retrying');
-- Due jobs by lane: the jobs of other lanes are found past a million due ones of one lane.
create index job_due_lane on job (shard, lane, run_at, id) where state in ('scheduled', 'retrying');
create index job_not_after on job (shard, not_after, id) where not_after is not null and state <> 'running';

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
-- Rows lie in the order of their ends, so that a few bytes for each run of pages find those that ended in an hour.
create index job_history_finished on job_history using brin (finished_at) with (autosummarize = on);
create table job_history_rest partition of job_history default;

-- Runs that did not end their job well, by the day they ended. When a run was due, and when its job became ready for it.
create table attempt (
    job_id uuid not null,
    shard smallint not null,
    fence bigint not null,
    attempt smallint not null,
    owner uuid,
    due_at timestamptz,
    ready_at timestamptz,
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

-- Up to which end the finished jobs of a type were pruned.
create table prune_mark (
    type text primary key,
    pruned_to timestamptz not null
);

-- The marks of declared limits are part of a lane. A lane with a key of the payload in them is removed when nothing
-- needs it any more; the pruner notes since when no live job is in it.
create table lane (
    id bigint primary key,
    pool text not null,
    tenant text not null,
    type text not null,
    priority smallint not null,
    version integer not null,
    limits text not null default '',
    idle_since timestamptz
);
create index lane_type on lane (type, tenant);

-- A key keeps its job while that is live, or until an instant, or both; one that is kept for good has a distant instant.
create table idempotency (
    tenant text not null,
    type text not null,
    key text not null,
    shard smallint not null,
    job_id uuid not null,
    while_live boolean not null,
    kept_until timestamptz,
    primary key (tenant, type, key, shard)
);

-- Results of side effects that a job must not have twice. They go with the job's record.
create table effect (
    job_id uuid not null,
    shard smallint not null,
    name text not null,
    result text not null,
    fence bigint not null,
    remembered_at timestamptz not null,
    primary key (job_id, name, shard)
);

-- How far the last run of a job has come, as its handler says; only jobs that report have a row. It goes with the job's
-- record.
create table progress (
    job_id uuid not null,
    shard smallint not null,
    fence bigint not null,
    done float8 not null,
    total float8,
    message text not null,
    at timestamptz not null,
    primary key (job_id, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- The last checkpoints of a job, for the run that resumes it; only jobs that save one have rows. The newest has the
-- counts of resumptions: all, and those since it was saved. They go with the job's record.
create table checkpoint (
    job_id uuid not null,
    shard smallint not null,
    slot smallint not null,
    number bigint not null,
    at timestamptz not null,
    fence bigint not null,
    version integer not null,
    name text not null,
    state text not null,
    resumptions integer not null,
    stalled integer not null,
    primary key (job_id, slot, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

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

-- Recurring schedules. Every fire up to handled_until is dealt with; each write raises the version.
create table schedule (
    name text not null,
    shard smallint not null,
    owner text,
    state text not null,
    version bigint not null,
    expression text not null,
    zone text not null,
    pool text not null,
    tenant text not null,
    type text not null,
    priority smallint not null,
    type_version integer not null,
    limits text not null default '',
    payload text not null,
    options text,
    overlap text not null,
    catch_up text not null,
    catch_up_window float8 not null,
    start_within float8,
    handled_until timestamptz not null,
    next_at timestamptz,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (name, shard)
) with (fillfactor = 70);
create index schedule_next on schedule (shard, next_at) where state = 'active';

-- What became of each fire, the last ones of each schedule. The key is what keeps a fire from making two jobs.
create table schedule_fire (
    schedule text not null,
    shard smallint not null,
    fire_at timestamptz not null,
    manual boolean not null,
    outcome text not null,
    count integer not null,
    job_id uuid,
    recorded_at timestamptz not null,
    primary key (schedule, fire_at, manual, shard)
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
create index audit_about on audit (target, id);

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

-- What is set at run time: pauses, breakers, tenants, pools, limits. A removed one stays without a value, so that
-- readers of changes learn of it.
create table control (
    kind text not null,
    name text not null,
    value text,
    version bigint not null,
    at timestamptz not null,
    primary key (kind, name)
);
create unique index control_version on control (version);

-- The one row that writers lock, so that versions are visible in their order.
create table control_head (
    single integer primary key,
    last bigint not null
);

-- One row for each limit in use: whoever starts jobs under it locks it first. Without tokens a bucket is full.
create table limit_bucket (
    name text primary key,
    tokens float8,
    at timestamptz not null,
    full_at timestamptz not null
) with (fillfactor = 50);

-- How many jobs waited for each tenant when they were last counted, and for all together under the empty name.
create table backlog (
    tenant text primary key,
    waiting bigint not null,
    at timestamptz not null
) with (fillfactor = 50);

-- How many submissions of each tenant were refused, put off or shed, and by what rule.
create table admission (
    tenant text not null,
    code text not null,
    jobs bigint not null,
    at timestamptz not null,
    primary key (tenant, code)
) with (fillfactor = 50);

-- The accounts of fair share: virtual times by pool, for tenants, groups of them, and the pool itself.
create table share (
    pool text not null,
    account text not null,
    virtual float8 not null,
    began float8 not null,
    floor float8 not null,
    touched_at timestamptz not null,
    primary key (pool, account)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- What each tenant was due and got in slot-seconds; `settled` is how much of what it got has been looked at.
create table ledger (
    minute timestamptz not null,
    pool text not null,
    tenant text not null,
    delivered float8 not null,
    reserved float8 not null,
    settled float8 not null,
    entitled float8 not null,
    waiting bigint not null,
    primary key (minute, pool, tenant)
) with (fillfactor = 70);
create index ledger_tenant on ledger (tenant, minute);

-- How long jobs of a type ran, by the hour in which they ended.
create table job_run (
    hour timestamptz not null,
    type text not null,
    bucket integer not null,
    runs bigint not null,
    seconds float8 not null,
    primary key (hour, type, bucket)
) with (fillfactor = 70);

-- How long jobs had waited when they were started, by the minute of that.
create table job_wait (
    minute timestamptz not null,
    pool text not null,
    bucket integer not null,
    starts bigint not null,
    primary key (minute, pool, bucket)
) with (fillfactor = 70);

-- Runs by how they ended, of dependencies and of what had failures lately, in buckets of time. Instants are seconds
-- since 1970; a row counts for its span after its bucket, which may lie ahead, and is removed afterwards.
create table run_count (
    subject text not null,
    bucket float8 not null,
    span float8 not null,
    good bigint not null,
    bad bigint not null,
    first_at float8 not null,
    primary key (subject, bucket)
);

-- The last write of each source of figures that add up, so that one whose answer was lost can be sent again.
create table flush (
    source uuid primary key,
    number bigint not null,
    at timestamptz not null
) with (fillfactor = 50);

-- What the system looked like, every few seconds for the last hour or so.
create table sample (
    at timestamptz primary key,
    value text not null
);

-- Keys of the HTTP API: only a hash of each is kept. `rate` is how many requests a second a key may send to a server
-- process; null is what the server allows every key.
create table api_key (
    id text primary key,
    name text not null,
    grants text not null,
    tenant text,
    hash text not null,
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    rate float8
);

-- Answers to requests with an Idempotency-Key. One without a status is being worked on until its lock ends.
create table api_answer (
    scope text not null,
    key text not null,
    token uuid not null,
    digest text not null,
    locked_until timestamptz not null,
    expires_at timestamptz not null,
    status smallint,
    headers text,
    body text,
    primary key (scope, key)
);
create index api_answer_expired on api_answer (expires_at);

-- Callback endpoints. An owner is a tenant, or empty for all; secrets are JSON, since they are needed to sign.
create table callback_endpoint (
    owner text not null,
    name text not null,
    url text not null,
    events text not null,
    pool text not null,
    secrets text not null,
    enabled boolean not null,
    why_disabled text,
    version integer not null,
    created_at timestamptz not null,
    primary key (owner, name)
);

-- The last tries of each endpoint.
create table callback_delivery (
    id bigint generated always as identity primary key,
    owner text not null,
    name text not null,
    delivery uuid not null,
    job_id uuid,
    message text not null,
    event text not null,
    attempt integer not null,
    status integer,
    took float8 not null,
    error text,
    at timestamptz not null
);
create index callback_delivery_of on callback_delivery (owner, name, id);
create index callback_delivery_at on callback_delivery (at);
