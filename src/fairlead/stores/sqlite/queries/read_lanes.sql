select lane.id, lane.pool, lane.tenant, lane.type, lane.priority, lane.version, lane.limits,
    lane.idle_since is not null
from lane
where lane.id = :id
