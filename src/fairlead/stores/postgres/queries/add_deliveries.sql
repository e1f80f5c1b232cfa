insert into ledger (minute, pool, tenant, delivered, reserved, settled, entitled, waiting)
select date_trunc('minute', now()), r.pool, r.tenant, r.delivered, r.reserved, 0, 0, 0
from json_to_recordset(:rows::json) as r(pool text, tenant text, delivered float8, reserved float8)
order by r.pool, r.tenant
on conflict (minute, pool, tenant) do update
set delivered = ledger.delivered + excluded.delivered, reserved = ledger.reserved + excluded.reserved
