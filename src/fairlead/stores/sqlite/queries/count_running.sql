-- Claim by claim: the cost is a few times that of what runs, whatever waits.
select lane, count(*)
from running
where shard = :shard
group by lane
