update worker set lease_until = :now where id = :id and lease_until > :now
