-- Where ANALYZE keeps what it found; the second is there only if the library that did it can make use of it.
select name from sqlite_schema where type = 'table' and name in ('sqlite_stat1', 'sqlite_stat4') order by name
