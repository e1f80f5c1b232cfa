select pool, bucket, starts, date_part('epoch', minute)::bigint
from job_wait
where minute > now() - :window * interval '1 second' - interval '1 minute'
order by minute, pool, bucket
