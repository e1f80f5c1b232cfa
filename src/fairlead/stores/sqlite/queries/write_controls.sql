insert into control (kind, name, value, version, at)
values (:kind, :name, :value, :version, :now)
on conflict (kind, name) do update set value = excluded.value, version = excluded.version, at = excluded.at
