-- Whether there are more live jobs in these states than so many.
-- SQLite tests the state once for each part of `live`, and skips the part, only where that is no look into a list.
select 1 from live
where live.shard = :shard and (:states is null or instr(:states, '"' || live.state || '"'))
limit 1 offset :most
