select id, host, pid, pools, types, slots, version, state, started_at, lease_until - :now, report
from worker
order by started_at, id
