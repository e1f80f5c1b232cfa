-- A dead job's own key is deleted and then reserved anew: whoever has just read it as free finds it gone and looks
-- again.
with r as materialized (
    select * from json_to_recordset(:rows::json) as r(tenant text, key text, job_id uuid)
),
held as materialized (
    select held.tenant, held.key, held.job_id
    from idempotency as held
    join r on r.tenant = held.tenant and r.key = held.key and r.job_id = held.job_id
    where held.shard = :shard and held.scope = 'active'
    order by held.tenant, held.key
    for update of held
)
delete from idempotency
using held
where idempotency.tenant = held.tenant and idempotency.key = held.key and idempotency.shard = :shard
    and idempotency.job_id = held.job_id
