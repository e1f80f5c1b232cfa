select
    id, name, grants, tenant, hash, date_part('epoch', created_at), date_part('epoch', expires_at),
    date_part('epoch', revoked_at), date_part('epoch', last_used_at), date_part('epoch', expires_at - now()), rate
from api_key
where :cursor::text is null or id > :cursor
order by id
limit :limit
