-- In the order of the table, which is that of ends, up to the first one in the index that is not old enough.
select old.id, old.finished_at
from job_history as old
cross join lane on lane.id = old.lane
left join json_each(:retentions) as kept on kept.key = lane.type
where old.rowid < coalesce(
        (
            select later.rowid from job_history as later
            where later.rowid % 64 = 0
                and later.finished_at >= :now - :shortest and later.finished_at <= :now
            order by later.finished_at
            limit 1
        ),
        9223372036854775807
    )
    and old.finished_at < :now - coalesce(kept.value, :retention)
    and old.shard = :shard
order by old.rowid
limit :limit
