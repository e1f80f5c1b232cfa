insert into idempotency (tenant, key, shard, job_id, scope, expires_at)
select r.tenant, r.key, :shard, r.job_id, r.scope, now() + r.expires_in * interval '1 second'
from json_to_recordset(:rows::json) as r(tenant text, key text, job_id uuid, scope text, expires_in float8)
order by r.tenant, r.key
on conflict (tenant, key, shard) do nothing
returning tenant, key
