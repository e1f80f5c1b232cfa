insert into control_head (single, last)
values (1, 0)
on conflict (single) do update set single = excluded.single
returning last, date_part('epoch', now())
