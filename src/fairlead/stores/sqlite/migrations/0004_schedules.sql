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
