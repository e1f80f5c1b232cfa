select
    id::text, host, pid, pools, types, slots, version, state, date_part('epoch', started_at),
    date_part('epoch', lease_until - now()), report
from worker
order by started_at, id
