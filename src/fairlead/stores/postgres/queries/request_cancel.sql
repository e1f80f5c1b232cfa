-- Rows that somebody has locked are about to change: they are passed over, and the caller looks at them again.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(
        id uuid, held_state text, held_fence bigint, held_owner uuid, held_lease uuid, cancel_by text,
        cancel_reason text, cancel_grace float8
    )
),
held as materialized (
    select job.id, job.fence from job
    where job.shard = :shard
        and job.id = any(array(select id from r))
        and (
            (job.id, job.state, job.fence, job.owner, job.lease) in (
                select id, held_state, held_fence, held_owner, held_lease from r
            )
        ) is true
    order by job.id
    for update skip locked
)
update job
set cancel_at = coalesce(job.cancel_at, now()), cancel_by = r.cancel_by, cancel_reason = r.cancel_reason,
    cancel_grace = r.cancel_grace
from r join held on held.id = r.id and held.fence = r.held_fence
where job.shard = :shard and job.id = held.id and job.id = any(array(select id from r))
returning job.id::text
