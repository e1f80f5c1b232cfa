-- How far the last run of a job has come, as its handler says; only jobs that report have a row. It goes with the job's
-- record.
create table progress (
    job_id uuid not null,
    shard smallint not null,
    fence bigint not null,
    done double precision not null,
    total double precision,
    message text not null,
    at timestamptz not null,
    primary key (job_id, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- How long jobs had waited when they were started, by the minute of that.
create table job_wait (
    minute timestamptz not null,
    pool text not null,
    bucket integer not null,
    starts bigint not null,
    primary key (minute, pool, bucket)
) with (fillfactor = 70);

create index audit_about on audit (target, id);
