-- The last row is the clock, whatever there is.
(
    select kind, name, value, version, date_part('epoch', at)
    from control
    where version > :since and (value is not null or :since > 0)
    order by version
)
union all
select null, null, null, null, date_part('epoch', now())
