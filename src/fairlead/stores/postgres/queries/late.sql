select
    id::text, lane, attempt, crashes, date_part('epoch', now() - created_at),
    state, fence, owner::text, lease::text, cancel_by, cancel_reason, cancel_grace, options,
    date_part('epoch', now() - not_after)
from job
where shard = :shard and not_after is not null and state <> 'running' and not_after < now()
order by job.not_after, job.id
limit :limit
