-- Notes that no live job is in a lane with a key.
update lane
set idle_since = :now
where lane.limits like '%=%' and lane.idle_since is null
    and lane.id not in (select live.lane from live where +live.shard = :shard)
