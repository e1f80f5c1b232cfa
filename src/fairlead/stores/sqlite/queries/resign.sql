update leader set lease_until = :now where role = :role and identity = :identity
