-- The id down to which a listing looks that no index helps: the last of as many live or
-- finished jobs as it may look at. None where there are fewer.
select floor.id::text
from (
    (
        select job.id from job
        where job.shard = :shard and (:cursor::uuid is null or job.id < :cursor::uuid)
        order by job.id desc
        offset :beyond limit 1
    )
    union all
    (
        select job.id from job_history as job
        where job.shard = :shard and (:cursor::uuid is null or job.id < :cursor::uuid)
        order by job.id desc
        offset :beyond limit 1
    )
) as floor
order by floor.id desc
limit 1
