select
    owner, name, url, events, pool, secrets, enabled, why_disabled, version, created_at
from callback_endpoint
where owner = :owner and name = :name
