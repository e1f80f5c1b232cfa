select place, ready_at, payload from floor_job
where lane = 1 and state = 'ready' and ready_at >= :since
order by ready_at, place
limit :count
