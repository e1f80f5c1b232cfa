-- What becomes ready now is due now; what stays ready keeps its place in time.
update job
set lane = r.lane, state = r.state, payload = coalesce(r.payload, job.payload),
    run_at = case
        when r.run_at is not null then to_timestamp(r.run_at)
        when r.state = 'ready' and job.state <> 'ready' then now()
        else job.run_at
    end,
    ready_at = case when r.state = 'ready' then coalesce(job.ready_at, now()) end
from json_to_recordset(:rows::json) as r(
    id uuid, held_state text, fence bigint, lane bigint, state text, run_at float8, payload text
)
where job.shard = :shard and job.id = r.id
    and job.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
    and job.state = r.held_state and job.fence = r.fence
returning job.id::text
