delete from lane
where lane.limits like '%=%'
    and lane.idle_since < :now - :kept
    and lane.id not in (select job.lane from job where job.shard = :shard)
returning lane.id
