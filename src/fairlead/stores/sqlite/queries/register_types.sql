insert into job_type (name, version, pool, schema, settings, updated_at)
values (:name, :version, :pool, :schema, :settings, :now)
on conflict (name) do update
set version = excluded.version, pool = excluded.pool, schema = excluded.schema, settings = excluded.settings,
    updated_at = excluded.updated_at
where job_type.version <= excluded.version
    and (job_type.version, job_type.pool, job_type.schema, job_type.settings)
        is not (excluded.version, excluded.pool, excluded.schema, excluded.settings)
