-- A try belongs to the endpoint that it was sent to: one of the same name that was made later has another log.
insert into callback_delivery (
    owner, name, delivery, job_id, message, event, attempt, status, took, error, at
)
select owner, name, :delivery, :job_id, :message, :event, :attempt, :status, :took, :error, :now
from callback_endpoint
where owner = :owner and name = :name and url = :url
returning id
