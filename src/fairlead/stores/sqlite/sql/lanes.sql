-- name: lock_limits
select name, tokens, at, :now, null
from limit_bucket
where name in (select json_extract(value, '$.name') from json_each(:rows))
