-- The last row is the clock, whatever there is.
select * from (
    select kind, name, value, version, at
    from control
    where version > :since and (value is not null or :since > 0)
    order by version
)
union all
select null, null, null, null, :now
