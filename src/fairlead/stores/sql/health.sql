-- name: count_runs
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

-- name: sum_runs
select
    run_count.subject, sum(run_count.good)::bigint, sum(run_count.bad)::bigint,
    date_part('epoch', now()) - min(run_count.first_at), date_part('epoch', now())
from json_to_recordset(:rows::json) as r(subject text)
join run_count on run_count.subject = r.subject
where run_count.bucket > date_part('epoch', now()) - run_count.span
group by run_count.subject

-- name: read_run_counts
-- The last row is the clock, whatever there is.
select subject, sum(good)::bigint, sum(bad)::bigint, date_part('epoch', now()) - min(first_at)
from run_count
where bucket > date_part('epoch', now()) - span
group by subject
union all
select null, null, null, date_part('epoch', now())

-- name: forget_runs
delete from run_count where subject in (select r.subject from json_to_recordset(:rows::json) as r(subject text))

-- name: forget_run_counts
delete from run_count where bucket < date_part('epoch', now()) - span

-- name: add_sample
insert into sample (at, value) values (now(), :value) on conflict (at) do nothing

-- name: read_samples
select date_part('epoch', at), value from sample where at >= now() - :back * interval '1 second' order by at

-- name: prune_samples
delete from sample where at < now() - :kept * interval '1 second'
