-- Its own place comes as values, so that the planner walks the index of ready jobs whatever it believes of the table.
select count(*)
from (
    select
    from job
    where shard = :shard and state = 'ready'
        and lane = (select own.lane from job as own where own.shard = :shard and own.id = :id::uuid and own.state = 'ready')
        and (ready_at, id) < (
            (select own.ready_at from job as own where own.shard = :shard and own.id = :id::uuid), :id::uuid
        )
    limit :limit
) as ahead
