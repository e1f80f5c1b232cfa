insert into flush (source, number, at)
values (:source::uuid, :number, now())
on conflict (source) do update set number = excluded.number, at = excluded.at
where flush.number < excluded.number
returning number
