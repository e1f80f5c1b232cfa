select control.kind, control.name, control.value, control.version, date_part('epoch', control.at)
from json_to_recordset(:rows::json) as r(kind text, name text)
join control on control.kind = r.kind and control.name = r.name
