-- Takes that back where there is one again.
update lane
set idle_since = null
where lane.limits like '%=%' and lane.idle_since is not null
    and lane.id in (select live.lane from live where +live.shard = :shard)
