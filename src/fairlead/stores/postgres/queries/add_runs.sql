insert into job_run (hour, type, bucket, runs, seconds)
select date_trunc('hour', now()), r.type, r.bucket, r.runs, r.seconds
from json_to_recordset(:rows::json) as r(type text, bucket integer, runs bigint, seconds float8)
order by r.type, r.bucket
on conflict (hour, type, bucket) do update
set runs = job_run.runs + excluded.runs, seconds = job_run.seconds + excluded.seconds
