update lane
set idle_since = null
where id in (select r.id from json_to_recordset(:rows::json) as r(id bigint))
