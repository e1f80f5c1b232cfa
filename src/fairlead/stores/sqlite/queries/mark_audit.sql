insert into audit_job (job_id, audit_id) values (:job_id, :audit_id) on conflict do nothing
