-- A job ends where it is, instead of moving to another table: neither its row nor its entry in the index of ids goes
-- anywhere, so that an end writes few pages, however far apart the jobs lie that end together. Finished jobs have a
-- `finished_at`, live ones have none. The table has a name that no older version knows: one that goes on over this file
-- must fail, not take what has ended for live.
--
-- What a claim and an end add to a row is there from the beginning as `room`, so that the row is written over where it
-- is, and no page has to be divided: 11 bytes for a claim, 46 for an end with its owner.
create table record (
    place integer primary key,
    id text not null,
    shard integer not null,
    lane integer not null,
    state text not null,
    attempt integer not null,
    crashes integer not null,
    fence integer not null,
    claim integer,
    run_at real not null,
    ready_at real,
    not_after real,
    created_at real not null,
    started_at real,
    finished_at real,
    owner text,
    room text default '                                                         ',
    parent text,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    fingerprint text,
    replays integer not null default 0,
    cancel_at real,
    cancel_grace real,
    cancel_by text,
    cancel_reason text,
    payload text not null,
    result text
);
insert into record (
    place, id, shard, lane, state, attempt, crashes, fence, claim, run_at, ready_at, not_after, created_at, started_at,
    parent, unique_key, options, error_type, error_message, failure, replays, cancel_at, cancel_grace, cancel_by,
    cancel_reason, payload
)
select
    place, id, shard, lane, state, attempt, crashes, fence, claim, run_at, ready_at, not_after, created_at, started_at,
    parent, unique_key, options, error_type, error_message, failure, replays, cancel_at, cancel_grace, cancel_by,
    cancel_reason, payload
from job;
insert into record (
    id, shard, lane, state, attempt, crashes, fence, run_at, not_after, created_at, started_at, finished_at, owner,
    room, parent, unique_key, options, error_type, error_message, failure, fingerprint, replays, payload, result
)
select
    id, shard, lane, state, attempt, crashes, fence, run_at, not_after, created_at, started_at, finished_at, owner,
    null, parent, unique_key, options, error_type, error_message, failure, fingerprint, replays, payload, result
from job_history
where not exists (select 1 from job where job.id = job_history.id)
order by rowid;
drop view running;
drop table job;
drop table job_history;

create unique index job_id on record (id);
create index job_ready on record (shard, lane, ready_at) where state = 'ready';
create index job_due on record (shard, run_at, id) where state in ('scheduled', 'retrying');
create index job_due_lane on record (shard, lane, run_at, id, state) where state in ('scheduled', 'retrying');
create index job_elsewhere on record (shard, lane, state) where state in ('blocked', 'enqueued');
create index job_not_after on record (shard, not_after, id)
where not_after is not null and finished_at is null and state <> 'running';
create index job_finished on record (finished_at) where finished_at is not null;
create index job_dead on record (shard, id) where state = 'dead';
create index job_fingerprint on record (shard, fingerprint, id) where state = 'dead';

-- The plus signs keep SQLite from making an index of all jobs for one look at those that run. Whoever opens the file
-- reads this, also a library that has no ->> yet.
create view running as
select
    job.place, job.id, job.shard, job.lane, job.state, job.attempt, job.crashes, job.fence, job.claim, job.run_at,
    job.ready_at, job.not_after, job.created_at, job.started_at, job.parent, job.unique_key, job.options,
    job.error_type, job.error_message, job.failure, job.replays, job.cancel_at, job.cancel_grace, job.cancel_by,
    job.cancel_reason, job.payload, claim.owner, claim.lease
from claim
cross join json_each(claim.places) as part
cross join record as job on job.place between json_extract(part.value, '$[0]') and json_extract(part.value, '$[1]')
where +job.claim = claim.id and +job.state = 'running';

-- Where the live jobs lie, by the indexes of their states: the cost is that of the live jobs, whatever has ended, and
-- only of those whose state is asked for.
create view live as
select place, shard, lane, 'ready' as state from record indexed by job_ready where state = 'ready'
union all
select place, shard, lane, state from record indexed by job_due_lane where state in ('scheduled', 'retrying')
union all
select place, shard, lane, state from record indexed by job_elsewhere where state in ('blocked', 'enqueued')
union all
select place, shard, lane, 'running' as state from running;

-- Finished jobs, as other stores have them in a table of their own.
create view job_history as
select
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, error_type, error_message, failure, fingerprint, replays, payload, result
from record
where finished_at is not null;
