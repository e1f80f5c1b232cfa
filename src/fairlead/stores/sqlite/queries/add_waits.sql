insert into job_wait (minute, pool, bucket, starts)
values (cast(:now / 60 as integer) * 60, :pool, :bucket, :starts)
on conflict (minute, pool, bucket) do update set starts = job_wait.starts + excluded.starts
