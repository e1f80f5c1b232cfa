insert into schedule (
    name, shard, owner, state, version, expression, zone, pool, tenant, type, priority, type_version, limits, payload,
    options, overlap, catch_up, catch_up_window, start_within, handled_until, next_at, created_at, updated_at
)
values (
    :name, :shard, :owner, :state, :version, :expression, :zone, :pool, :tenant, :type, :priority, :type_version,
    :limits, :payload, :options, :overlap, :catch_up, :window, :start_within,
    :handled_until, :next_at, :now, :now
)
on conflict (name, shard) do nothing
returning name
