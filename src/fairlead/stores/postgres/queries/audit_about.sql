select
    audit.id, date_part('epoch', audit.at), audit.actor, audit.action, audit.target, audit.details,
    audit.previous_hash, audit.hash
from audit
where audit.target = :target
order by audit.id desc
limit :limit
