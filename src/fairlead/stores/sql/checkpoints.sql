-- name: save_checkpoints
-- The job's row is locked against settlements, so that nothing is saved for a run that is over. The last five of a job
-- are kept: the next number takes the slot of the oldest. A number that another write has taken is not taken again.
with held as materialized (
    select job.id, job.shard, job.fence, r.version, r.name, r.state
    from json_to_recordset(:rows::json) as r(
        id uuid, fence bigint, owner uuid, lease uuid, version integer, name text, state text
    )
    join job on job.id = r.id
    where job.shard = :shard
        and job.id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))
        and (job.state, job.fence, job.owner, job.lease) is not distinct from ('running', r.fence, r.owner, r.lease)
    order by job.id
    for share of job
),
next as materialized (
    select held.*,
        1 + coalesce((select max(old.number) from checkpoint as old where old.job_id = held.id and old.shard = held.shard), 0)
            as number
    from held
)
insert into checkpoint (job_id, shard, slot, number, at, fence, version, name, state, resumptions, stalled)
select
    next.id, next.shard, next.number % 5, next.number, now(), next.fence, next.version, next.name, next.state,
    coalesce((
        select old.resumptions from checkpoint as old
        where old.job_id = next.id and old.shard = next.shard and old.number = next.number - 1
    ), 0),
    0
from next
where true
on conflict (job_id, slot, shard) do update
set number = excluded.number, at = excluded.at, fence = excluded.fence, version = excluded.version,
    name = excluded.name, state = excluded.state, resumptions = excluded.resumptions, stalled = 0
where checkpoint.number < excluded.number
returning job_id::text, number, resumptions

-- name: read_checkpoint
select number, fence, resumptions, stalled, version, state
from checkpoint
where job_id = :id::uuid and shard = :shard
order by number desc
limit 1

-- name: last_checkpoints
select last.job_id::text, last.number, last.fence, last.resumptions, last.stalled
from checkpoint as last
where last.shard = :shard
    and last.job_id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
    and not exists (
        select from checkpoint as newer
        where newer.job_id = last.job_id and newer.shard = last.shard and newer.number > last.number
    )

-- name: list_checkpoints
select number, name, date_part('epoch', at), octet_length(state), fence, version, resumptions
from checkpoint
where job_id = :id::uuid and shard = :shard
order by number desc

-- name: count_resumptions
update checkpoint
set resumptions = r.resumptions, stalled = r.stalled
from json_to_recordset(:rows::json) as r(id uuid, number bigint, resumptions integer, stalled integer)
where checkpoint.shard = :shard and checkpoint.job_id = r.id and checkpoint.number = r.number
    and checkpoint.job_id = any(array(select c.id from json_to_recordset(:rows::json) as c(id uuid)))

-- name: purge_checkpoints
delete from checkpoint
where shard = :shard and job_id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
