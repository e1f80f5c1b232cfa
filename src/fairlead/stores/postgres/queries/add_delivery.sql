insert into callback_delivery (
    owner, name, delivery, job_id, message, event, attempt, status, took, error, at
)
values (
    :owner, :name, :delivery::uuid, :job_id::uuid, :message, :event, :attempt, :status, :took, :error, now()
)
