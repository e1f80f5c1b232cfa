select pool, tenant, sum(entitled), sum(delivered), sum(reserved), max(waiting)
from ledger
where minute > now() - :window * interval '1 second'
group by pool, tenant
order by pool, tenant
