select 1 from sqlite_stat1 where tbl in (select value from json_each(:tables)) limit 1
