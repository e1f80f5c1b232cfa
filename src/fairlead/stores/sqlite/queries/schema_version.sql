select max(version) from schema_version
