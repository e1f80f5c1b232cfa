delete from api_answer where scope = :scope and key = :key and token = :token::uuid
