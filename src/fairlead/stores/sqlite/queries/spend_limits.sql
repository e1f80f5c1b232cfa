update limit_bucket set tokens = :tokens, at = :at, full_at = :full_at where name = :name
