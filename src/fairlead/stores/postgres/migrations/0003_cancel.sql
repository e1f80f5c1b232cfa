-- A wish to cancel, stored with the run that it is about. It never outlives that run.
alter table job
    add column cancel_at timestamptz,
    add column cancel_grace float8,
    add column cancel_by text,
    add column cancel_reason text;

-- When a run was due, and when its job became ready for it.
alter table attempt
    add column due_at timestamptz,
    add column ready_at timestamptz;

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
