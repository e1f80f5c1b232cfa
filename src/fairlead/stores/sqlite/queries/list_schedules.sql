select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    s.handled_until, s.next_at
from schedule as s
where s.shard = :shard
    and (:after is null or s.name > :after)
    and (:owner is null or s.owner = :owner)
    and (:tenant is null or s.tenant = :tenant)
order by s.name
limit :limit
