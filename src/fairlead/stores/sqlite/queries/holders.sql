-- Claim by claim: the cost is a few times that of what runs, whatever waits.
select id, lane, started_at, owner
from running
where shard = :shard and lane in (select value from json_each(:lanes))
order by started_at, id
limit :most
