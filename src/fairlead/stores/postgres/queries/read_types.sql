select name, version, pool, schema, settings from job_type order by name
