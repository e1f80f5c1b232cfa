create table schema_version (
    version integer primary key,
    name text not null,
    applied_at real not null
);

-- Live jobs only: small, so that claims stay fast whatever the history holds.
create table job (
    id text not null,
    lane integer not null,
    run_at real not null,
    created_at real not null,
    ready_at real,
    shard integer not null,
    crashes integer not null,
    replays integer not null default 0,
    attempt integer not null,
    fence integer not null,
    started_at real,
    owner text,
    lease text,
    state text not null,
    payload text not null,
    not_after real,
    parent text,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    cancel_at real,
    cancel_grace real,
    cancel_by text,
    cancel_reason text,
    primary key (id)
);
create index job_ready on job (shard, lane, ready_at, id) where state = 'ready';
create index job_running on job (shard, owner, lane) where state = 'running';
create index job_due on job (shard, run_at, id) where state in ('scheduled', 'retrying');
-- Due jobs by lane: the jobs of other lanes are found past a million due ones of one lane.
create index job_due_lane on job (shard, lane, run_at, id, state) where state in ('scheduled', 'retrying');
create index job_elsewhere on job (shard, lane, state) where state in ('blocked', 'enqueued');
create index job_not_after on job (shard, not_after, id) where not_after is not null and state <> 'running';

-- Finished jobs; retention deletes them along the index of their ends.
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
    result text,
    primary key (id)
);
create index job_history_dead on job_history (shard, id) where state = 'dead';
create index job_history_fingerprint on job_history (shard, fingerprint, id) where state = 'dead';
create index job_history_finished on job_history (finished_at);

-- Runs that did not end their job well. When a run was due, and when its job became ready for it.
create table attempt (
    job_id text not null,
    shard integer not null,
    fence integer not null,
    attempt integer not null,
    owner text,
    due_at real,
    ready_at real,
    started_at real,
    ended_at real not null,
    ending text not null,
    error_type text,
    error_message text,
    failure text,
    fingerprint text,
    traceback text,
    primary key (job_id, fence, ended_at)
);

-- Up to which end the finished jobs of a type were pruned.
create table prune_mark (
    type text primary key,
    pruned_to real not null
);

-- The marks of declared limits are part of a lane. A lane with a key of the payload in them is removed when nothing
-- needs it any more; the pruner notes since when no live job is in it.
create table lane (
    id integer primary key,
    pool text not null,
    tenant text not null,
    type text not null,
    priority integer not null,
    version integer not null,
    limits text not null default '',
    idle_since real
);
create index lane_type on lane (type, tenant);

-- A key keeps its job while that is live, or until an instant, or both; one that is kept for good has a distant instant.
create table idempotency (
    tenant text not null,
    type text not null,
    key text not null,
    shard integer not null,
    job_id text not null,
    while_live integer not null,
    kept_until real,
    primary key (tenant, type, key, shard)
);

-- Results of side effects that a job must not have twice. They go with the job's record.
create table effect (
    job_id text not null,
    shard integer not null,
    name text not null,
    result text not null,
    fence integer not null,
    remembered_at real not null,
    primary key (job_id, name, shard)
);

-- How far the last run of a job has come, as its handler says; only jobs that report have a row. It goes with the job's
-- record.
create table progress (
    job_id text not null,
    shard integer not null,
    fence integer not null,
    done real not null,
    total real,
    message text not null,
    at real not null,
    primary key (job_id, shard)
);

-- The last checkpoints of a job, for the run that resumes it; only jobs that save one have rows. The newest has the
-- counts of resumptions: all, and those since it was saved. They go with the job's record.
create table checkpoint (
    job_id text not null,
    shard integer not null,
    slot integer not null,
    number integer not null,
    at real not null,
    fence integer not null,
    version integer not null,
    name text not null,
    state text not null,
    resumptions integer not null,
    stalled integer not null,
    primary key (job_id, slot, shard)
);

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

-- Recurring schedules. Every fire up to handled_until is dealt with; each write raises the version.
create table schedule (
    name text not null,
    shard integer not null,
    owner text,
    state text not null,
    version integer not null,
    expression text not null,
    zone text not null,
    pool text not null,
    tenant text not null,
    type text not null,
    priority integer not null,
    type_version integer not null,
    limits text not null default '',
    payload text not null,
    options text,
    overlap text not null,
    catch_up text not null,
    catch_up_window real not null,
    start_within real,
    handled_until real not null,
    next_at real,
    created_at real not null,
    updated_at real not null,
    primary key (name, shard)
);
create index schedule_next on schedule (shard, next_at) where state = 'active';

-- What became of each fire, the last ones of each schedule. The key is what keeps a fire from making two jobs.
create table schedule_fire (
    schedule text not null,
    shard integer not null,
    fire_at real not null,
    manual integer not null,
    outcome text not null,
    count integer not null,
    job_id text,
    recorded_at real not null,
    primary key (schedule, fire_at, manual, shard)
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
create index audit_about on audit (target, id);

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
);

-- What is set at run time: pauses, breakers, tenants, pools, limits. A removed one stays without a value, so that
-- readers of changes learn of it.
create table control (
    kind text not null,
    name text not null,
    value text,
    version integer not null,
    at real not null,
    primary key (kind, name)
);
create unique index control_version on control (version);

-- The one row that writers lock, so that versions are visible in their order.
create table control_head (
    single integer primary key,
    last integer not null
);

-- One row for each limit in use: whoever starts jobs under it locks it first. Without tokens a bucket is full.
create table limit_bucket (
    name text primary key,
    tokens real,
    at real not null,
    full_at real not null
);

-- How many jobs waited for each tenant when they were last counted, and for all together under the empty name.
create table backlog (
    tenant text primary key,
    waiting integer not null,
    at real not null
);

-- How many submissions of each tenant were refused, put off or shed, and by what rule.
create table admission (
    tenant text not null,
    code text not null,
    jobs integer not null,
    at real not null,
    primary key (tenant, code)
);

-- The accounts of fair share: virtual times by pool, for tenants, groups of them, and the pool itself.
create table share (
    pool text not null,
    account text not null,
    virtual real not null,
    began real not null,
    floor real not null,
    touched_at real not null,
    primary key (pool, account)
);

-- What each tenant was due and got in slot-seconds; `settled` is how much of what it got has been looked at.
create table ledger (
    minute real not null,
    pool text not null,
    tenant text not null,
    delivered real not null,
    reserved real not null,
    settled real not null,
    entitled real not null,
    waiting integer not null,
    primary key (minute, pool, tenant)
);
create index ledger_tenant on ledger (tenant, minute);

-- How long jobs of a type ran, by the hour in which they ended.
create table job_run (
    hour real not null,
    type text not null,
    bucket integer not null,
    runs integer not null,
    seconds real not null,
    primary key (hour, type, bucket)
);

-- How long jobs had waited when they were started, by the minute of that.
create table job_wait (
    minute real not null,
    pool text not null,
    bucket integer not null,
    starts integer not null,
    primary key (minute, pool, bucket)
);

-- Runs by how they ended, of dependencies and of what had failures lately, in buckets of time. Instants are seconds
-- since 1970; a row counts for its span after its bucket, which may lie ahead, and is removed afterwards.
create table run_count (
    subject text not null,
    bucket real not null,
    span real not null,
    good integer not null,
    bad integer not null,
    first_at real not null,
    primary key (subject, bucket)
);

-- The last write of each source of figures that add up, so that one whose answer was lost can be sent again.
create table flush (
    source text primary key,
    number integer not null,
    at real not null
);

-- What the system looked like, every few seconds for the last hour or so.
create table sample (
    at real primary key,
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
    created_at real not null,
    expires_at real,
    revoked_at real,
    last_used_at real,
    rate real
);

-- Answers to requests with an Idempotency-Key. One without a status is being worked on until its lock ends.
create table api_answer (
    scope text not null,
    key text not null,
    token text not null,
    digest text not null,
    locked_until real not null,
    expires_at real not null,
    status integer,
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
    enabled integer not null,
    why_disabled text,
    version integer not null,
    created_at real not null,
    primary key (owner, name)
);

-- The last tries of each endpoint.
create table callback_delivery (
    id integer primary key autoincrement,
    owner text not null,
    name text not null,
    delivery text not null,
    job_id text,
    message text not null,
    event text not null,
    attempt integer not null,
    status integer,
    took real not null,
    error text,
    at real not null
);
create index callback_delivery_of on callback_delivery (owner, name, id);
create index callback_delivery_at on callback_delivery (at);
