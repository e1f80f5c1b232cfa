insert into control (kind, name, value, version, at)
select r.kind, r.name, r.value, r.version, now()
from json_to_recordset(:rows::json) as r(kind text, name text, value text, version bigint)
on conflict (kind, name) do update set value = excluded.value, version = excluded.version, at = excluded.at
