insert into run_count (subject, bucket, span, good, bad, first_at)
values (:subject, cast((:now + :ahead) / :width as integer) * :width, :span, :good, :bad, :now)
on conflict (subject, bucket) do update
set good = run_count.good + excluded.good, bad = run_count.bad + excluded.bad, span = excluded.span
