-- One row with all that a worker needs to know about the picked jobs, and the places they are at.
select
    json_group_array(
        json_array(
            id, lane, payload, attempt + 1, crashes, fence + 1,
            printf('%!.17g', ready_at), :now - created_at, not_after - :now,
            unique_key, options
        )
    ),
    json_group_array(place)
from (
    select rowid as place, * from job
    where shard = :shard and lane = :lane and state = 'ready' and ready_at >= :since
    order by ready_at, id
    limit :most
)
