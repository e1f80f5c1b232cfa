create table floor_job (
    place integer primary key autoincrement,
    id blob not null unique,
    lane integer not null,
    state text not null,
    owner blob,
    fence integer not null,
    ready_at real not null,
    finished_at real,
    payload text not null
)
