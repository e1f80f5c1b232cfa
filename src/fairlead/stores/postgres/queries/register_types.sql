insert into job_type (name, version, pool, schema, settings, updated_at)
select r.name, r.version, r.pool, r.schema, r.settings, now()
from json_to_recordset(:rows::json) as r(name text, version integer, pool text, schema text, settings text)
order by r.name
on conflict (name) do update
set version = excluded.version, pool = excluded.pool, schema = excluded.schema, settings = excluded.settings,
    updated_at = excluded.updated_at
where job_type.version <= excluded.version
    and (job_type.version, job_type.pool, job_type.schema, job_type.settings)
        is distinct from (excluded.version, excluded.pool, excluded.schema, excluded.settings)
