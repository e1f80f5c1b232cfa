-- No lock is taken on the job: what a run reports just before it ends is as true a moment later, and an older run never
-- replaces a newer one.
insert into progress (job_id, shard, fence, done, total, message, at)
select held.id, held.shard, held.fence, r.done, r.total, r.message, now()
from json_to_recordset(:rows::json) as r(
    id uuid, fence bigint, owner uuid, lease uuid, done float8, total float8, message text
)
cross join lateral (
    select job.id, job.shard, job.fence from job
    where job.id = r.id and job.shard = :shard
        and (job.state, job.fence, job.owner, job.lease) is not distinct from ('running', r.fence, r.owner, r.lease)
    limit 1
) as held
order by held.id
on conflict (job_id, shard) do update
set fence = excluded.fence, done = excluded.done, total = excluded.total, message = excluded.message, at = excluded.at
where progress.fence <= excluded.fence
returning job_id::text
