-- Callback endpoints. An owner is a tenant, or empty for all; secrets are JSON, since they are needed to sign.
create table callback_endpoint (
    owner text not null,
    name text not null,
    url text not null,
    events text not null,
    pool text not null,
    secrets text not null,
    enabled boolean not null,
    why_disabled text,
    version integer not null,
    created_at timestamptz not null,
    primary key (owner, name)
);

-- The last tries of each endpoint.
create table callback_delivery (
    id bigint generated always as identity primary key,
    owner text not null,
    name text not null,
    delivery uuid not null,
    job_id uuid,
    message text not null,
    event text not null,
    attempt integer not null,
    status integer,
    took double precision not null,
    error text,
    at timestamptz not null
);
create index callback_delivery_of on callback_delivery (owner, name, id);
create index callback_delivery_at on callback_delivery (at);
