update callback_endpoint
set url = :url, events = :events, pool = :pool, secrets = :secrets, enabled = :enabled, why_disabled = :why_disabled,
    version = :version
where owner = :owner and name = :name and version = :seen and secrets = :seen_secrets
returning name
