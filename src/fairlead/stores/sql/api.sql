-- name: add_key
insert into api_key (id, name, grants, tenant, hash, created_at, expires_at, rate)
values (:id, :name, :grants, :tenant, :hash, now(), now() + :expires_in::float8 * interval '1 second', :rate::float8)

-- name: list_keys
select
    id, name, grants, tenant, hash, date_part('epoch', created_at), date_part('epoch', expires_at),
    date_part('epoch', revoked_at), date_part('epoch', last_used_at), date_part('epoch', expires_at - now()), rate
from api_key
where :cursor::text is null or id > :cursor
order by id
limit :limit

-- name: read_api_keys
select
    id, name, grants, tenant, hash, date_part('epoch', created_at), date_part('epoch', expires_at),
    date_part('epoch', revoked_at), date_part('epoch', last_used_at), date_part('epoch', expires_at - now()), rate
from api_key
where id in (select r.id from json_to_recordset(:rows::json) as r(id text))

-- name: revoke_key
update api_key set revoked_at = now() where id = :id and revoked_at is null returning id

-- name: touch_keys
update api_key
set last_used_at = greatest(coalesce(last_used_at, to_timestamp(0)), now() - r.ago * interval '1 second')
from json_to_recordset(:rows::json) as r(id text, ago float8)
where api_key.id = r.id

-- name: reserve_answer
insert into api_answer (scope, key, token, digest, locked_until, expires_at)
values (
    :scope, :key, :token::uuid, :digest, now() + :lock * interval '1 second', now() + :keep * interval '1 second'
)
on conflict (scope, key) do update
set token = excluded.token, digest = excluded.digest, locked_until = excluded.locked_until,
    expires_at = excluded.expires_at, status = null, headers = null, body = null
where api_answer.expires_at <= now() or (api_answer.status is null and api_answer.locked_until <= now())
returning key

-- name: read_answer
select digest, status, headers, body from api_answer where scope = :scope and key = :key

-- name: keep_answer
update api_answer set status = :status, headers = :headers, body = :body
where scope = :scope and key = :key and token = :token::uuid

-- name: drop_answer
delete from api_answer where scope = :scope and key = :key and token = :token::uuid

-- name: forget_answers
delete from api_answer
where (scope, key) in (select scope, key from api_answer where expires_at <= now() order by expires_at limit :limit)
returning key
