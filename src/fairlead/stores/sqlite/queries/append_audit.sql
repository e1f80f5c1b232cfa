insert into audit (id, at, actor, action, target, details, previous_hash, hash)
values (:id, :at, :actor, :action, :target, :details, :previous_hash, :hash)
