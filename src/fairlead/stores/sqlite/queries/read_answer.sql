select digest, status, headers, body from api_answer where scope = :scope and key = :key
