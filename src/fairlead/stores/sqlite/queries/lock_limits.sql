select name, tokens, at, :now, null from limit_bucket where name = :name
