select
    fire.schedule, fire.fire_at, fire.manual, fire.outcome, fire.count, fire.job_id, fire.recorded_at
from schedule_fire as fire
where fire.schedule = :name and fire.shard = :shard
order by fire.fire_at desc, fire.manual desc
limit :most
