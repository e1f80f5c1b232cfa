-- The last row is the clock, whatever there is.
select pool, account, virtual, floor from share where touched_at >= :since
union all
select null, null, null, :now
