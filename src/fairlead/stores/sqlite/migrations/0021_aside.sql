-- What a claim and a success change costs as little as it can: `state` is in the condition of two indexes only, that of
-- ready jobs and that of jobs with a `not_after`, which mostly have none. All others ask for `aside`, which says the
-- state of a job that is neither ready, running nor succeeded, and which neither of the two touches, so that SQLite need
-- not look at those indexes at all.
--
-- No index has the finished jobs by the time of their end, which was an eighth of what an end cost: what is old enough
-- to go is looked for among the first of the table.
--
-- The table has a name that no older version knows: one that goes on over this file must fail, not leave jobs where
-- nobody looks for them.
drop view live;
drop view running;
drop view job_history;
drop index job_due;
drop index job_due_lane;
drop index job_elsewhere;
drop index job_dead;
drop index job_fingerprint;
drop index job_finished;
alter table record rename to entry;
alter table entry add column aside text;
update entry set aside = state where state not in ('ready', 'running', 'succeeded');

create index job_due on entry (shard, run_at, id) where aside in ('scheduled', 'retrying');
create index job_due_lane on entry (shard, lane, run_at, id, aside) where aside in ('scheduled', 'retrying');
create index job_elsewhere on entry (shard, lane, aside) where aside in ('blocked', 'enqueued');
create index job_dead on entry (shard, id) where aside = 'dead';
create index job_fingerprint on entry (shard, fingerprint, id) where aside = 'dead';

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
cross join entry as job on job.place between json_extract(part.value, '$[0]') and json_extract(part.value, '$[1]')
where +job.claim = claim.id and +job.state = 'running';

-- Where the live jobs lie, by the indexes of their states: the cost is that of the live jobs, whatever has ended, and
-- only of those whose state is asked for.
create view live as
select place, shard, lane, 'ready' as state from entry indexed by job_ready where state = 'ready'
union all
select place, shard, lane, aside as state from entry indexed by job_due_lane where aside in ('scheduled', 'retrying')
union all
select place, shard, lane, aside as state from entry indexed by job_elsewhere where aside in ('blocked', 'enqueued')
union all
select place, shard, lane, 'running' as state from running;

-- Finished jobs, as other stores have them in a table of their own.
create view job_history as
select
    id, shard, lane, state, attempt, crashes, fence, owner, run_at, not_after, created_at, started_at, finished_at,
    parent, unique_key, options, error_type, error_message, failure, fingerprint, replays, payload, result
from entry
where finished_at is not null;
