-- An estimate where the table was analysed, since counting a day of history would cost more than dropping it.
select case when reltuples >= 1000000 then reltuples::bigint else (select count(*) from {partition}) end
from pg_class
where oid = :name::regclass
