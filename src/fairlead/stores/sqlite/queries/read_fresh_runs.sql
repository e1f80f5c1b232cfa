-- The same as read_fresh_run for several runs of jobs, in the order of the given parts.
select
    :now, group_concat(job.id), group_concat(job.payload, char(30)),
    group_concat(cast(job.ready_at * 1e6 as integer)), null
from json_each(:parts) as part
cross join entry as job not indexed on job.place between part.value ->> 0 and part.value ->> 1
where job.claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
having count(*) = :count and sum(job.fence) = count(*)
    and count(coalesce(job.not_after, job.unique_key, job.options)) = 0 and total(job.ready_at - job.created_at) = 0
