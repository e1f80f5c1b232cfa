select
    audit.id, date_part('epoch', audit.at), audit.actor, audit.action, audit.target, audit.details,
    audit.previous_hash, audit.hash
from audit_job join audit on audit.id = audit_job.audit_id
where audit_job.job_id = :job_id::uuid and (:cursor::bigint is null or audit.id < :cursor)
order by audit.id desc
limit :limit
