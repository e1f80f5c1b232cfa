insert into audit_head (single, last, hash)
values (1, 0, '')
on conflict (single) do update set single = excluded.single
returning last, hash, date_part('epoch', now())
