update floor_job
set state = 'running', owner = :owner, fence = fence + 1
where place in (
    select place from floor_job
    where lane = 1 and state = 'ready' and ready_at >= :since
    order by ready_at, place
    limit :count
)
returning place, ready_at, payload
