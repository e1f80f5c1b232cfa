-- The state comes as a value: written out, it would let the planner read the whole index of dead jobs.
delete from job_history
using json_to_recordset(:rows::json) as r(id uuid, fence bigint, finished_at timestamptz, held_state text)
where job_history.shard = :shard and job_history.id = r.id and job_history.state = r.held_state
    and job_history.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
    and job_history.fence = r.fence and job_history.finished_at = r.finished_at
returning job_history.id::text
