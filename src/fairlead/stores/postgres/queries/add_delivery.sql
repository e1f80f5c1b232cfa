-- A try belongs to the endpoint that it was sent to: one of the same name that was made later has another log.
with known as materialized (
    select owner, name from callback_endpoint
    where owner = :owner and name = :name and url = :url
    for share
)
insert into callback_delivery (
    owner, name, delivery, job_id, message, event, attempt, status, took, error, at
)
select known.owner, known.name, :delivery::uuid, :job_id::uuid, :message, :event, :attempt, :status, :took, :error, now()
from known
returning id
