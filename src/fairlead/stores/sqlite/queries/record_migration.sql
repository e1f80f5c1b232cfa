insert into schema_version (version, name, applied_at) values (:version, :name, :now)
