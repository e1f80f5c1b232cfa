-- The same as read_fresh_run for jobs that lie apart.
select
    :now, group_concat(id), group_concat(payload, char(30)), group_concat(cast(ready_at * 1e6 as integer)),
    group_concat(place)
from entry
where place in (select value from json_each(:places))
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
having count(*) = :count and sum(fence) = count(*)
    and count(coalesce(not_after, unique_key, options)) = 0 and total(ready_at - created_at) = 0
