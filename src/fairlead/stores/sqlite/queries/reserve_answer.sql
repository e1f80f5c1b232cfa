insert into api_answer (scope, key, token, digest, locked_until, expires_at)
values (:scope, :key, :token, :digest, :now + :lock, :now + :keep)
on conflict (scope, key) do update
set token = excluded.token, digest = excluded.digest, locked_until = excluded.locked_until,
    expires_at = excluded.expires_at, status = null, headers = null, body = null
where api_answer.expires_at <= :now or (api_answer.status is null and api_answer.locked_until <= :now)
returning key
