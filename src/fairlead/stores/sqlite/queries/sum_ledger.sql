select pool, tenant, sum(entitled), sum(delivered), sum(reserved), max(waiting)
from ledger
where minute > :now - :window
group by pool, tenant
order by pool, tenant
