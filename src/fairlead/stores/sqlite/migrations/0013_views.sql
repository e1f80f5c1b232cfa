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
) without rowid;

-- How long jobs had waited when they were started, by the minute of that.
create table job_wait (
    minute integer not null,
    pool text not null,
    bucket integer not null,
    starts integer not null,
    primary key (minute, pool, bucket)
) without rowid;

create index audit_about on audit (target, id);
