-- The accounts of fair share: virtual times by pool, for tenants, groups of them, and the pool itself.
create table share (
    pool text not null,
    account text not null,
    virtual double precision not null,
    began double precision not null,
    floor double precision not null,
    touched_at timestamptz not null,
    primary key (pool, account)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- What each tenant was due and got in slot-seconds; `settled` is how much of what it got has been looked at.
create table ledger (
    minute timestamptz not null,
    pool text not null,
    tenant text not null,
    delivered double precision not null,
    reserved double precision not null,
    settled double precision not null,
    entitled double precision not null,
    waiting bigint not null,
    primary key (minute, pool, tenant)
) with (fillfactor = 70);
create index ledger_tenant on ledger (tenant, minute);

-- How long jobs of a type ran, by the hour in which they ended.
create table job_run (
    hour timestamptz not null,
    type text not null,
    bucket integer not null,
    runs bigint not null,
    seconds double precision not null,
    primary key (hour, type, bucket)
) with (fillfactor = 70);
