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
