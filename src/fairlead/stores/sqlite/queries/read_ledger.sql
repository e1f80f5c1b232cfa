select pool, tenant, entitled, delivered, reserved, waiting, minute
from ledger
where tenant = :tenant and minute > :now - :window
order by minute desc, pool
