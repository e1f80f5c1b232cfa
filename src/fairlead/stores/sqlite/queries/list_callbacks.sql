select
    owner, name, url, events, pool, secrets, enabled, why_disabled, version, created_at
from callback_endpoint
where (:owner is null or owner = :owner)
    and (:after_owner is null or (owner, name) > (:after_owner, :after_name))
order by owner, name
limit :limit
