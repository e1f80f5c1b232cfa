update worker
set lease_until = now()
where id in (select r.id from json_to_recordset(:rows::json) as r(id uuid)) and lease_until > now()
