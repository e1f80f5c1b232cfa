insert into floor_job (id, lane, state, fence, ready_at, payload) values (:id, 1, 'ready', 0, :now, :payload)
