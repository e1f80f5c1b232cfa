insert into sample (at, value) values (:now, :value) on conflict (at) do nothing
