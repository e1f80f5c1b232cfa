delete from api_answer
where (scope, key) in (select scope, key from api_answer where expires_at <= :now order by expires_at limit :limit)
returning key
