-- The last row is the clock, whatever there is.
select pool, account, virtual, floor from share where touched_at >= to_timestamp(:since::float8)
union all
select null, null, null, date_part('epoch', now())
