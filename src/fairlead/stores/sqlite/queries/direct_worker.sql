update worker set state = :state where id = :id and lease_until > :now returning id
