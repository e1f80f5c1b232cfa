insert into audit (id, at, actor, action, target, details, previous_hash, hash)
values (:id, to_timestamp(:at), :actor, :action, :target, :details, :previous_hash, :hash)
