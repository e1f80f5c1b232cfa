-- Raise the virtual time to where the share began, then by what was charged: `excluded.virtual` is their sum.
insert into share (pool, account, virtual, began, floor, touched_at)
select r.pool, r.account, r.begin + r.virtual, r.begin, r.floor, now()
from json_to_recordset(:rows::json) as r(pool text, account text, begin float8, virtual float8, floor float8)
order by r.pool, r.account
on conflict (pool, account) do update
set virtual = greatest(share.virtual, excluded.began) + (excluded.virtual - excluded.began),
    began = excluded.began, floor = greatest(share.floor, excluded.floor), touched_at = excluded.touched_at
