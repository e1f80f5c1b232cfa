create table floor_job (
    id uuid primary key with (fillfactor = 45),
    lane bigint not null,
    state text not null,
    owner uuid,
    fence bigint not null,
    ready_at timestamptz not null,
    payload text not null
) with (fillfactor = 45)
