insert into admission (tenant, code, jobs, at)
select r.tenant, r.code, r.jobs, now()
from json_to_recordset(:rows::json) as r(tenant text, code text, jobs bigint)
order by r.tenant, r.code
on conflict (tenant, code) do update set jobs = admission.jobs + excluded.jobs, at = excluded.at
