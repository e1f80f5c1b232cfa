create table floor_history (
    id uuid primary key,
    lane bigint not null,
    state text not null,
    owner uuid,
    fence bigint not null,
    ready_at timestamptz not null,
    finished_at timestamptz not null,
    payload text not null
)
