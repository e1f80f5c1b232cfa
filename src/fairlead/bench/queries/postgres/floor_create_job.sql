create table floor_job (
    id uuid primary key with (fillfactor = 45),
    lane bigint not null,
    ready_at timestamptz not null,
    fence bigint not null,
    owner uuid,
    state text not null,
    payload text not null
) with (fillfactor = 45)
