update api_key set last_used_at = max(coalesce(last_used_at, 0), :now - :ago) where id = :id
