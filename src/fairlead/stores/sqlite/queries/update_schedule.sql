update schedule
set owner = :owner, state = :state, version = :version, expression = :expression, zone = :zone, pool = :pool, tenant = :tenant,
    type = :type, priority = :priority, type_version = :type_version, limits = :limits, payload = :payload, options = :options,
    overlap = :overlap, catch_up = :catch_up, catch_up_window = :window, start_within = :start_within,
    handled_until = :handled_until, next_at = :next_at, updated_at = :now
where name = :name and shard = :shard and version = :seen
returning name
