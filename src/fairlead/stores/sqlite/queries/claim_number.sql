select id from claim where owner = :owner and lease = :lease
