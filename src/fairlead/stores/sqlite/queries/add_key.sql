insert into api_key (id, name, grants, tenant, hash, created_at, expires_at, rate)
values (:id, :name, :grants, :tenant, :hash, :now, :now + :expires_in, :rate)
