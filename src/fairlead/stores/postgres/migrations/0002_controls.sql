-- What is set at run time: pauses, breakers, tenants, pools, limits. A removed one stays without a value, so that
-- readers of changes learn of it.
create table control (
    kind text not null,
    name text not null,
    value text,
    version bigint not null,
    at timestamptz not null,
    primary key (kind, name)
);
create unique index control_version on control (version);

-- The one row that writers lock, so that versions are visible in their order.
create table control_head (
    single integer primary key,
    last bigint not null
);
