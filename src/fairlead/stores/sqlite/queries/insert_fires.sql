insert into schedule_fire (schedule, shard, fire_at, manual, outcome, count, job_id, recorded_at)
values (:schedule, :shard, :fire_at, :manual, :outcome, :count, :job_id, :now)
on conflict (schedule, fire_at, manual, shard) do nothing
returning job_id
