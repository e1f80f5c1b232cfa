create index floor_ready on floor_job (lane, ready_at, place) where state = 'ready'
