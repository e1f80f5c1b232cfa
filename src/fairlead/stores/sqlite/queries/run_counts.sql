select type, bucket, sum(runs), sum(seconds)
from job_run
where hour > :now - :window - 3600
    and (:type is null or type = :type)
group by type, bucket
order by type, bucket
