-- Of the next jobs in the table, which is the order in which they came: up to which one was looked, how many were not
-- made just lately (by a clock that was ahead once, for one), and those that may go.
select
    max(next.place),
    total(next.created_at not between :now - :shortest and :now),
    json_group_array(json_array(next.place, next.id, next.finished_at)) filter (
        where next.finished_at < :now - :shortest and next.finished_at < :now - coalesce(kept.value, :retention)
    )
from (
    select place, id, lane, created_at, finished_at from entry
    where place > :after and +shard = :shard
    order by place
    limit :looked
) as next
cross join lane on lane.id = next.lane
left join json_each(:retentions) as kept on kept.key = lane.type
