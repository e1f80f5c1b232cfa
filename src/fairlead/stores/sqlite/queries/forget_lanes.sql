delete from lane
where lane.limits like '%=%'
    and lane.idle_since < :now - :kept
    and lane.id not in (select live.lane from live where +live.shard = :shard)
returning lane.id
