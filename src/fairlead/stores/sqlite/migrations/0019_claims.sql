-- A job says by a number whose it is, and a claim says where its jobs lie: as pairs of a first and a last place, in
-- JSON. So a claim of thousands of jobs names its owner and its lease once, and no index of running jobs is needed.
-- `jobs` is how many of them still run, and `wide` on how many places they lie at most.
create table claim (
    id integer primary key,
    owner text not null,
    lease text not null,
    jobs integer not null,
    wide integer not null,
    places text not null
);
create unique index claim_lease on claim (owner, lease);
insert into claim (owner, lease, jobs, wide, places)
select coalesce(owner, ''), coalesce(lease, ''), count(*), count(*), json_group_array(json_array(place, place))
from job
where state = 'running'
group by 1, 2;

create table numbered_job (
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
    parent text,
    unique_key text,
    options text,
    error_type text,
    error_message text,
    failure text,
    replays integer not null default 0,
    cancel_at real,
    cancel_grace real,
    cancel_by text,
    cancel_reason text,
    payload text not null
);
insert into numbered_job (
    place, id, shard, lane, state, attempt, crashes, fence, claim, run_at, ready_at, not_after, created_at, started_at,
    parent, unique_key, options, error_type, error_message, failure, replays, cancel_at, cancel_grace, cancel_by,
    cancel_reason, payload
)
select
    job.place, job.id, job.shard, job.lane, job.state, job.attempt, job.crashes, job.fence, claim.id, job.run_at,
    job.ready_at, job.not_after, job.created_at, job.started_at, job.parent, job.unique_key, job.options,
    job.error_type, job.error_message, job.failure, job.replays, job.cancel_at, job.cancel_grace, job.cancel_by,
    job.cancel_reason, job.payload
from job
left join claim on job.state = 'running'
    and claim.owner = coalesce(job.owner, '') and claim.lease = coalesce(job.lease, '');
drop table job;
alter table numbered_job rename to job;
create unique index job_id on job (id);
create index job_ready on job (shard, lane, ready_at) where state = 'ready';
create index job_due on job (shard, run_at, id) where state in ('scheduled', 'retrying');
create index job_due_lane on job (shard, lane, run_at, id) where state in ('scheduled', 'retrying');
create index job_not_after on job (shard, not_after, id) where not_after is not null and state <> 'running';

-- The plus signs keep SQLite from making an index of all jobs for one look at those that run. Whoever opens the file
-- reads this, also a library that has no ->> yet.
create view running as
select job.*, claim.owner, claim.lease
from claim
cross join json_each(claim.places) as part
cross join job on job.place between json_extract(part.value, '$[0]') and json_extract(part.value, '$[1]')
where +job.claim = claim.id and +job.state = 'running';

-- The history grows in the order of ends: one end in 64 is enough to find up to where the old ones lie.
drop index job_history_finished;
create index job_history_ends on job_history (finished_at) where rowid % 64 = 0;
