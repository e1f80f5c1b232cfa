update lane set idle_since = null where id = :id
