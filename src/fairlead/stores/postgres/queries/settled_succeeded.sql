-- Those of the jobs that have succeeded under this owner and these fences.
select job_history.id::text
from unnest(:ids::uuid[], :fences::bigint[]) as r(id, fence)
join job_history on job_history.id = r.id
where job_history.shard = :shard
    and (job_history.state, job_history.fence, job_history.owner) is not distinct from ('succeeded', r.fence, :owner::uuid)
