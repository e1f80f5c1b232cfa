select
    job.id::text, job.lane, job.attempt, job.crashes, date_part('epoch', now() - job.created_at),
    job.state, job.fence, job.owner::text, job.lease::text,
    job.cancel_by, job.cancel_reason, job.cancel_grace, job.options
from json_to_recordset(:rows::json) as doubtful(owner uuid, lease uuid)
join job on job.shard = :shard and job.state = 'running' and job.owner = doubtful.owner and job.lease = doubtful.lease
