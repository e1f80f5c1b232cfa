select
    fire.schedule, date_part('epoch', fire.fire_at), fire.manual, fire.outcome, fire.count, fire.job_id::text,
    date_part('epoch', fire.recorded_at)
from json_to_recordset(:rows::json) as r(name text, most integer)
cross join lateral (
    select * from schedule_fire as recent
    where recent.schedule = r.name and recent.shard = :shard
    order by recent.fire_at desc, recent.manual desc
    limit r.most
) as fire
order by fire.schedule, fire.fire_at desc, fire.manual desc
