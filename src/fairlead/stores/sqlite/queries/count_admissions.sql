insert into admission (tenant, code, jobs, at)
values (:tenant, :code, :jobs, :now)
on conflict (tenant, code) do update set jobs = admission.jobs + excluded.jobs, at = excluded.at
