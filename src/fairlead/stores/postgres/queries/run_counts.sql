select type, bucket, sum(runs)::bigint, sum(seconds)
from job_run
where hour > now() - :window * interval '1 second' - interval '1 hour'
    and (:type::text is null or type = :type)
group by type, bucket
order by type, bucket
