-- Notes that no live job is in a lane with a key.
update lane
set idle_since = now()
where lane.limits like '%=%' and lane.idle_since is null
    and not exists (select from job where job.shard = :shard and job.lane = lane.id)
