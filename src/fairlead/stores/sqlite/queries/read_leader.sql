select identity, term, lease_until - :now from leader where role = :role
