select
    id, name, grants, tenant, hash, created_at, expires_at, revoked_at, last_used_at, expires_at - :now, rate
from api_key
where id = :id
