insert into limit_bucket (name, at, full_at)
values (:name, :now, :now)
on conflict (name) do nothing
