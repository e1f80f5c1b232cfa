-- Where nothing was delivered there is no row yet; where there is one, `excluded.delivered` carries what was seen of it.
insert into ledger (minute, pool, tenant, delivered, reserved, settled, entitled, waiting)
select to_timestamp(r.minute), r.pool, r.tenant, r.seen, 0, r.settled, r.entitled, r.waiting
from json_to_recordset(:rows::json)
    as r(minute float8, pool text, tenant text, seen float8, settled float8, entitled float8, waiting bigint)
order by r.minute, r.pool, r.tenant
on conflict (minute, pool, tenant) do update
set settled = excluded.settled, entitled = ledger.entitled + excluded.entitled,
    waiting = greatest(ledger.waiting, excluded.waiting)
where ledger.settled = excluded.delivered
