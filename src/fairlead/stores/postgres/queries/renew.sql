update worker
set lease_until = greatest(lease_until, now() + :lease * interval '1 second')
where id in (select r.id from json_to_recordset(:rows::json) as r(id uuid)) and lease_until > now()
returning id::text
