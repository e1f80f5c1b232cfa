-- Sorted, so that two who count the same subjects do not wait for each other crosswise.
insert into run_count (subject, bucket, span, good, bad, first_at)
select subject, bucket, max(span), sum(good), sum(bad), date_part('epoch', now())
from (
    select
        r.subject, r.span, r.good, r.bad,
        floor((date_part('epoch', now()) + r.ahead) / r.width) * r.width as bucket
    from json_to_recordset(:rows::json) as r(
        subject text, span float8, width float8, ahead float8, good bigint, bad bigint
    )
) as counted
group by subject, bucket
order by subject, bucket
on conflict (subject, bucket) do update
set good = run_count.good + excluded.good, bad = run_count.bad + excluded.bad, span = excluded.span
