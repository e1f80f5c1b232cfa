-- The last row is the clock, whatever there is.
select * from (
    select subject, sum(good), sum(bad), :now - min(first_at)
    from run_count
    where bucket > :now - span
    group by subject
)
union all
select null, null, null, :now
