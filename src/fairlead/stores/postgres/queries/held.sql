select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from job
where job.shard = :shard
    and job.id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
