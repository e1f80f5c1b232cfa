select
    audit.id, audit.at, audit.actor, audit.action, audit.target, audit.details,
    audit.previous_hash, audit.hash
from audit_job join audit on audit.id = audit_job.audit_id
where audit_job.job_id = :job_id and (:cursor is null or audit.id < :cursor)
order by audit.id desc
limit :limit
