-- Those of the jobs that the transaction has just ended under this owner.
select coalesce(json_group_array(job.id), '[]')
from json_each(:rows) as r
cross join entry as job
where job.id = r.value ->> 0 and +job.fence = r.value ->> 1
    and +job.shard = :shard and +job.state = 'succeeded' and job.owner = :owner and +job.finished_at = :now
