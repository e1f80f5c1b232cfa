select tenant, waiting, date_part('epoch', now() - at)
from backlog
where tenant in (select r.tenant from json_to_recordset(:rows::json) as r(tenant text))
