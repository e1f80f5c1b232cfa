update worker set report = :report where id = :id returning state
