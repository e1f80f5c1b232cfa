update audit_head set last = :id, hash = :hash where single = 1
