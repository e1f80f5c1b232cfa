create table floor_history (
    id uuid primary key,
    lane bigint not null,
    fence bigint not null,
    ready_at timestamptz not null,
    finished_at timestamptz not null,
    owner uuid,
    state text not null,
    payload text not null
)
