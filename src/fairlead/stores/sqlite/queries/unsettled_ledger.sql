-- The last row is the present minute, whatever there is.
select minute, pool, tenant, delivered, settled
from ledger
where minute >= :now - :window and delivered > settled
union all
select cast(:now / 60 as integer) * 60, null, null, null, null
