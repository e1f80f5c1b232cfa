update worker set state = :state where id = :id::uuid and lease_until > now() returning id::text
