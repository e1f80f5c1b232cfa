-- The marks of declared limits are part of a lane. A lane with a key of the payload in them is removed when nothing
-- needs it any more; the pruner notes since when no live job is in it.
alter table lane add column limits text not null default '';
alter table lane add column idle_since real;

-- One row for each limit in use: whoever starts jobs under it locks it first. Without tokens a bucket is full.
create table limit_bucket (
    name text primary key,
    tokens real,
    at real not null,
    full_at real not null
);

-- How many jobs waited for each tenant when they were last counted, and for all together under the empty name.
create table backlog (
    tenant text primary key,
    waiting integer not null,
    at real not null
);

-- How many submissions of each tenant were refused, put off or shed, and by what rule.
create table admission (
    tenant text not null,
    code text not null,
    jobs integer not null,
    at real not null,
    primary key (tenant, code)
);
