select
    run_count.subject, sum(run_count.good)::bigint, sum(run_count.bad)::bigint,
    date_part('epoch', now()) - min(run_count.first_at), date_part('epoch', now())
from json_to_recordset(:rows::json) as r(subject text)
join run_count on run_count.subject = r.subject
where run_count.bucket > date_part('epoch', now()) - run_count.span
group by run_count.subject
