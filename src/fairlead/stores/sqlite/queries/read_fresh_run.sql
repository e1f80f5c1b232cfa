-- What differs between jobs that lie side by side and that nobody has claimed before, a text for each column; no row if
-- there is more to tell about one of them. The order is that of the places.
select
    :now, group_concat(id), group_concat(payload, char(30)), group_concat(cast(ready_at * 1e6 as integer)), null
from entry not indexed
where place between :first and :last
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
having count(*) = :last - :first + 1 and sum(fence) = count(*)
    and count(coalesce(not_after, unique_key, options)) = 0 and total(ready_at - created_at) = 0
