insert into backlog (tenant, waiting, at)
values (:tenant, :waiting, :now - :age)
on conflict (tenant) do update set waiting = excluded.waiting, at = excluded.at
