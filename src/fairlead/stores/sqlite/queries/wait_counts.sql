select pool, bucket, starts, minute
from job_wait
where minute > :now - :window - 60
order by minute, pool, bucket
