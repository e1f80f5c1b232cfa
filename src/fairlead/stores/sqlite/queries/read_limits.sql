select name, tokens, at, :now from limit_bucket order by name
