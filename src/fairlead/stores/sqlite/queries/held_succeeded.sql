-- Those of the jobs that succeeded whose claim still holds.
select coalesce(json_group_array(job.id), '[]')
from json_each(:rows) as r
cross join job
where job.id = r.value ->> 0 and +job.fence = r.value ->> 1
    and +job.shard = :shard and +job.state = 'running'
    and job.claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
