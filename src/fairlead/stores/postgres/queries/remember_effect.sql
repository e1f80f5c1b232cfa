-- The job's row is locked against settlements, so that nothing is remembered for a run that is over. What was
-- remembered first stays.
with held as materialized (
    select job.id, job.shard, job.fence from job
    where job.id = :id::uuid and job.shard = :shard
        and (job.state, job.fence, job.owner, job.lease)
            is not distinct from ('running', :fence::bigint, :owner::uuid, :lease::uuid)
    for share
)
insert into effect (job_id, shard, name, result, fence, remembered_at)
select held.id, held.shard, :effect, :result, held.fence, now() from held
on conflict (job_id, name, shard) do update set name = excluded.name
returning result
