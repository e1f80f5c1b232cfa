-- The state comes as a value: written out, it would let the planner read the whole index of dead jobs.
-- Locked, so that what holds now still holds when the keys have been taken.
select job.id::text, job.fence, coalesce(job.not_after < now(), false)
from job_history as job
join json_to_recordset(:rows::json) as r(id uuid, fence bigint, finished_at timestamptz, held_state text)
    on r.id = job.id and r.fence = job.fence and r.finished_at = job.finished_at and r.held_state = job.state
where job.shard = :shard
    and job.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
order by job.id
for update of job
