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
