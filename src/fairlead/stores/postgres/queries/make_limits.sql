insert into limit_bucket (name, at, full_at)
select r.name, now(), now()
from json_to_recordset(:rows::json) as r(name text)
order by r.name
on conflict (name) do nothing
