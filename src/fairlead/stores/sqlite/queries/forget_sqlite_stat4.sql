delete from sqlite_stat4 where tbl in (select value from json_each(:tables))
