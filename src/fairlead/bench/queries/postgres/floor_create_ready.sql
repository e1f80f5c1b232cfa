create index floor_ready on floor_job (lane, ready_at, id) where state = 'ready'
