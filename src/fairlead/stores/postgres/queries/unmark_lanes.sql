-- Takes that back where there is one again.
update lane
set idle_since = null
where lane.limits like '%=%' and lane.idle_since is not null
    and exists (select from job where job.shard = :shard and job.lane = lane.id)
