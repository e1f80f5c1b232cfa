-- The last row is the present minute, whatever there is.
select date_part('epoch', minute)::bigint, pool, tenant, delivered, settled
from ledger
where minute >= now() - :window * interval '1 second' and delivered > settled
union all
select date_part('epoch', date_trunc('minute', now()))::bigint, null, null, null, null
