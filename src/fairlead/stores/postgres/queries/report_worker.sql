update worker set report = :report where id = :id::uuid returning state
