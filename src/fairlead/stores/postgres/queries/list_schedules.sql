select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at)
from schedule as s
where s.shard = :shard
    and (:after::text is null or s.name > :after::text)
    and (:owner::text is null or s.owner = :owner::text)
    and (:tenant::text is null or s.tenant = :tenant::text)
order by s.name
limit :limit
