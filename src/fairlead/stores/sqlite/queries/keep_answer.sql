update api_answer set status = :status, headers = :headers, body = :body
where scope = :scope and key = :key and token = :token
