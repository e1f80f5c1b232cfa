select
    delivery, job_id, message, event, attempt, status, took, error, id, at
from callback_delivery
where owner = :owner and name = :endpoint and (:cursor is null or id < :cursor)
order by id desc
limit :limit
