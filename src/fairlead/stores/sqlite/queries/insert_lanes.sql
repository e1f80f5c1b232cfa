insert into lane (id, pool, tenant, type, priority, version, limits)
values (:id, :pool, :tenant, :type, :priority, :version, :limits)
on conflict (id) do nothing
