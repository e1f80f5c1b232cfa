insert into schedule_fire (schedule, shard, fire_at, manual, outcome, count, job_id, recorded_at)
select r.schedule, :shard, to_timestamp(r.fire_at), r.manual, r.outcome, r.count, r.job_id, now()
from json_to_recordset(:rows::json) as r(
    schedule text, fire_at float8, manual boolean, outcome text, count integer, job_id uuid
)
on conflict (schedule, fire_at, manual, shard) do nothing
returning job_id::text
