-- name: schema_exists
select 1 from sqlite_schema where type = 'table' and name = 'schema_version'

-- name: main_file
select file from pragma_database_list where name = 'main'

-- name: statistics
select 1 from sqlite_stat1 where tbl in (select value from json_each(:tables)) limit 1

-- name: statistics_tables
-- Where ANALYZE keeps what it found; the second is there only if the library that did it can make use of it.
select name from sqlite_schema where type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4') order by name

-- name: forget_sqlite_stat1
delete from sqlite_stat1 where tbl in (select value from json_each(:tables))

-- name: forget_sqlite_stat4
delete from sqlite_stat4 where tbl in (select value from json_each(:tables))
