-- Raise the virtual time to where the share began, then by what was charged: `excluded.virtual` is their sum.
insert into share (pool, account, virtual, began, floor, touched_at)
values (:pool, :account, :begin + :virtual, :begin, :floor, :now)
on conflict (pool, account) do update
set virtual = max(share.virtual, excluded.began) + (excluded.virtual - excluded.began),
    began = excluded.began, floor = max(share.floor, excluded.floor), touched_at = excluded.touched_at
