insert into audit_job (job_id, audit_id)
select r.job_id, r.audit_id
from json_to_recordset(:rows::json) as r(job_id uuid, audit_id bigint)
on conflict do nothing
