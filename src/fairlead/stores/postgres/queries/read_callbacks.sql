select
    e.owner, e.name, e.url, e.events, e.pool, e.secrets, e.enabled, e.why_disabled, e.version,
    date_part('epoch', e.created_at)
from json_to_recordset(:rows::json) as r(owner text, name text)
join callback_endpoint as e on e.owner = r.owner and e.name = r.name
