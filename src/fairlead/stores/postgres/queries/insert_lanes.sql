insert into lane (id, pool, tenant, type, priority, version, limits)
select r.id, r.pool, r.tenant, r.type, r.priority, r.version, r.limits
from json_to_recordset(:rows::json)
    as r(id bigint, pool text, tenant text, type text, priority smallint, version integer, limits text)
order by r.id
on conflict (id) do nothing
