select child.relname
from pg_inherits
join pg_class as child on child.oid = pg_inherits.inhrelid
join pg_class as parent on parent.oid = pg_inherits.inhparent
where parent.relname = :parent and parent.relnamespace = current_schema()::regnamespace
order by child.relname
