select pool, tenant, entitled, delivered, reserved, waiting, date_part('epoch', minute)::bigint
from ledger
where tenant = :tenant and minute > now() - :window * interval '1 second'
order by minute desc, pool
