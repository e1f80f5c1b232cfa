select 1 from sqlite_schema where type = 'table' and name = 'schema_version'
