-- Runs by how they ended, of dependencies and of what had failures lately, in buckets of time. Instants are seconds
-- since 1970; a row counts for its span after its bucket, which may lie ahead, and is removed afterwards.
create table run_count (
    subject text not null,
    bucket double precision not null,
    span double precision not null,
    good bigint not null,
    bad bigint not null,
    first_at double precision not null,
    primary key (subject, bucket)
);
