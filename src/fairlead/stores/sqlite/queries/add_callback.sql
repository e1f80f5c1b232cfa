insert into callback_endpoint (
    owner, name, url, events, pool, secrets, enabled, why_disabled, version, created_at
)
values (:owner, :name, :url, :events, :pool, :secrets, :enabled, :why_disabled, :version, :now)
on conflict (owner, name) do nothing
returning name
