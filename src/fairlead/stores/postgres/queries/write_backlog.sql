insert into backlog (tenant, waiting, at)
select r.tenant, r.waiting, now() - r.age * interval '1 second'
from json_to_recordset(:rows::json) as r(tenant text, waiting bigint, age float8)
order by r.tenant
on conflict (tenant) do update set waiting = excluded.waiting, at = excluded.at
