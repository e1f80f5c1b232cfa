select identity::text, term, date_part('epoch', lease_until - now()) from leader where role = :role
