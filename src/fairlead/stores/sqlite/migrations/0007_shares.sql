-- The accounts of fair share: virtual times by pool, for tenants, groups of them, and the pool itself.
create table share (
    pool text not null,
    account text not null,
    virtual real not null,
    began real not null,
    floor real not null,
    touched_at real not null,
    primary key (pool, account)
) without rowid;

-- What each tenant was due and got in slot-seconds; `settled` is how much of what it got has been looked at.
create table ledger (
    minute integer not null,
    pool text not null,
    tenant text not null,
    delivered real not null,
    reserved real not null,
    settled real not null,
    entitled real not null,
    waiting integer not null,
    primary key (minute, pool, tenant)
) without rowid;
create index ledger_tenant on ledger (tenant, minute);

-- How long jobs of a type ran, by the hour in which they ended.
create table job_run (
    hour integer not null,
    type text not null,
    bucket integer not null,
    runs integer not null,
    seconds real not null,
    primary key (hour, type, bucket)
) without rowid;
