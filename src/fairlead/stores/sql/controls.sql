-- name: lock_controls
insert into control_head (single, last)
values (1, 0)
on conflict (single) do update set single = excluded.single
returning last, date_part('epoch', now())

-- name: move_controls
update control_head set last = :last where single = 1

-- name: read_controls
-- The last row is the clock, whatever there is.
select kind, name, value, version, date_part('epoch', at)
from control
where version > :since and (value is not null or :since > 0)
union all
select null, null, null, null, date_part('epoch', now())
order by version nulls last

-- name: read_controls_named
select control.kind, control.name, control.value, control.version, date_part('epoch', control.at)
from json_to_recordset(:rows::json) as r(kind text, name text)
join control on control.kind = r.kind and control.name = r.name

-- name: write_controls
insert into control (kind, name, value, version, at)
select r.kind, r.name, r.value, r.version, now()
from json_to_recordset(:rows::json) as r(kind text, name text, value text, version bigint)
where true
on conflict (kind, name) do update set value = excluded.value, version = excluded.version, at = excluded.at

-- name: write_backlog
insert into backlog (tenant, waiting, at)
select r.tenant, r.waiting, now() - r.age * interval '1 second'
from json_to_recordset(:rows::json) as r(tenant text, waiting bigint, age float8)
order by r.tenant
on conflict (tenant) do update set waiting = excluded.waiting, at = excluded.at

-- name: read_backlog
select tenant, waiting, date_part('epoch', now() - at)
from backlog
where tenant in (select r.tenant from json_to_recordset(:rows::json) as r(tenant text))

-- name: clear_backlog
-- What this sample has no figure of; it runs in the transaction that wrote the others.
delete from backlog where not (tenant = any(array(select json_array_elements_text(:kept::json))))

-- name: count_admissions
insert into admission (tenant, code, jobs, at)
select r.tenant, r.code, r.jobs, now()
from json_to_recordset(:rows::json) as r(tenant text, code text, jobs bigint)
order by r.tenant, r.code
on conflict (tenant, code) do update set jobs = admission.jobs + excluded.jobs, at = excluded.at

-- name: read_admissions
select tenant, code, jobs from admission order by tenant, code
