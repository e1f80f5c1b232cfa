delete from lane
where lane.limits like '%=%'
    and lane.idle_since < now() - :kept * interval '1 second'
    and not exists (select from job where job.shard = :shard and job.lane = lane.id)
returning lane.id
