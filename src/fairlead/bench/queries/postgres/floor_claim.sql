with picked as materialized (
    select id from floor_job
    where lane = 1 and state = 'ready' and ready_at >= :since
    order by ready_at, id
    limit :count
    for update skip locked
)
update floor_job
set state = 'running', owner = :owner::uuid, fence = fence + 1
where id = any(array(select id from picked))
returning id::text, ready_at, payload
