insert into job_run (hour, type, bucket, runs, seconds)
values (cast(:now / 3600 as integer) * 3600, :type, :bucket, :runs, :seconds)
on conflict (hour, type, bucket) do update
set runs = job_run.runs + excluded.runs, seconds = job_run.seconds + excluded.seconds
