select
    owner, name, url, events, pool, secrets, enabled, why_disabled, version, date_part('epoch', created_at)
from callback_endpoint
where (:owner::text is null or owner = :owner)
    and (:after_owner::text is null or (owner, name) > (:after_owner, :after_name::text))
order by owner, name
limit :limit
