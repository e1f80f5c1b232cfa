insert into job_wait (minute, pool, bucket, starts)
select date_trunc('minute', now()), r.pool, r.bucket, r.starts
from json_to_recordset(:rows::json) as r(pool text, bucket integer, starts bigint)
order by r.pool, r.bucket
on conflict (minute, pool, bucket) do update set starts = job_wait.starts + excluded.starts
