-- name: lock_limits
-- In the order of names, so that no two wait for each other crosswise. Whoever stands still while it holds the locks,
-- frozen or cut off, is put out by the server, so that others need not wait for it.
select
    name, tokens, date_part('epoch', at), date_part('epoch', now()),
    set_config('idle_in_transaction_session_timeout', '5s', true)
from limit_bucket
where name in (select r.name from json_to_recordset(:rows::json) as r(name text))
order by name
for update
