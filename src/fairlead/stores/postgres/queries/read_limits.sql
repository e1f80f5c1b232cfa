select name, tokens, date_part('epoch', at), date_part('epoch', now()) from limit_bucket order by name
