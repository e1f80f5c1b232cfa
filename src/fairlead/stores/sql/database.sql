-- name: schema_version
select max(version) from schema_version

-- name: record_migration
insert into schema_version (version, name, applied_at) values (:version, :name, now())
