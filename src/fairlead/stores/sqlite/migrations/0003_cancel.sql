-- A wish to cancel, stored with the run that it is about. It never outlives that run.
alter table job add column cancel_at real;
alter table job add column cancel_grace real;
alter table job add column cancel_by text;
alter table job add column cancel_reason text;

-- When a run was due, and when its job became ready for it.
alter table attempt add column due_at real;
alter table attempt add column ready_at real;

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
