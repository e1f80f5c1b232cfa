update api_key
set last_used_at = greatest(last_used_at, now() - r.ago * interval '1 second')
from json_to_recordset(:rows::json) as r(id text, ago float8)
where api_key.id = r.id
