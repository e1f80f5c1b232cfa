-- Claim by claim: the cost is that of what runs, not of what waits.
select id, lane, started_at, owner
from running
where shard = :shard and lane in (select value from json_each(:lanes))
order by started_at, id
limit :most
