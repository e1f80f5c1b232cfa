-- The same as read_fresh_run for jobs of several lanes.
select
    :now, group_concat(id), group_concat(payload, char(30)), group_concat(cast(ready_at * 1e6 as integer)),
    null, null, group_concat(place), group_concat(lane)
from entry not indexed
where place between :first and :last
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
having count(*) = :last - :first + 1 and sum(fence) = count(*)
    and count(coalesce(not_after, unique_key, options)) = 0 and total(ready_at - created_at) = 0
