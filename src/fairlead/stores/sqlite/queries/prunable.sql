select old.id, old.finished_at
from entry as old
cross join lane on lane.id = old.lane
left join json_each(:retentions) as kept on kept.key = lane.type
where old.finished_at is not null and old.finished_at < :now - :shortest
    and old.finished_at < :now - coalesce(kept.value, :retention)
    and +old.shard = :shard
order by old.finished_at
limit :limit
