-- Claim by claim: the cost is that of what runs, not of what waits.
select lane, count(*)
from running
where shard = :shard
group by lane
