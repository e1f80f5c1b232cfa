update api_key set revoked_at = now() where id = :id and revoked_at is null returning id
