-- name: finished_types
select distinct type from lane

-- name: read_marks
select type, date_part('epoch', pruned_to) from prune_mark

-- name: move_marks
insert into prune_mark (type, pruned_to)
select r.type, to_timestamp(r.pruned_to)
from json_to_recordset(:rows::json) as r(type text, pruned_to float8)
where true
order by r.type
on conflict (type) do update set pruned_to = excluded.pruned_to
