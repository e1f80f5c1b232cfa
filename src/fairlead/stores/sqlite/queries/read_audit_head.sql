select last, hash from audit_head where single = 1
