update worker set lease_until = max(lease_until, :now + :lease) where id = :id and lease_until > :now returning id
