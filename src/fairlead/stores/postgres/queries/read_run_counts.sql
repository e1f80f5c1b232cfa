-- The last row is the clock, whatever there is.
(
    select subject, sum(good)::bigint, sum(bad)::bigint, date_part('epoch', now()) - min(first_at)
    from run_count
    where bucket > date_part('epoch', now()) - span
    group by subject
)
union all
select null, null, null, date_part('epoch', now())
