-- Callback endpoints. An owner is a tenant, or empty for all; secrets are JSON, since they are needed to sign.
create table callback_endpoint (
    owner text not null,
    name text not null,
    url text not null,
    events text not null,
    pool text not null,
    secrets text not null,
    enabled integer not null,
    why_disabled text,
    version integer not null,
    created_at real not null,
    primary key (owner, name)
);

-- The last tries of each endpoint.
create table callback_delivery (
    id integer primary key autoincrement,
    owner text not null,
    name text not null,
    delivery text not null,
    job_id text,
    message text not null,
    event text not null,
    attempt integer not null,
    status integer,
    took real not null,
    error text,
    at real not null
);
create index callback_delivery_of on callback_delivery (owner, name, id);
create index callback_delivery_at on callback_delivery (at);
