update schedule as s
set version = r.version + 1, handled_until = to_timestamp(r.handled_until), next_at = to_timestamp(r.next_at)
from json_to_recordset(:rows::json) as r(name text, version bigint, handled_until float8, next_at float8)
where s.shard = :shard and s.name = r.name and s.version = r.version
