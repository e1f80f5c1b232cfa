select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    date_part('epoch', s.handled_until), date_part('epoch', s.next_at)
from schedule as s
join json_to_recordset(:rows::json) as r(name text) on r.name = s.name
where s.shard = :shard
order by s.name
