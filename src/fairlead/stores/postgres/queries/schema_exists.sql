select to_regclass('schema_version')
