update limit_bucket
set tokens = r.tokens, at = to_timestamp(r.at), full_at = to_timestamp(r.full_at)
from json_to_recordset(:rows::json) as r(name text, tokens float8, at float8, full_at float8)
where limit_bucket.name = r.name
