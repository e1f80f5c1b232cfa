select
    delivery::text, job_id::text, message, event, attempt, status, took, error, id, date_part('epoch', at)
from callback_delivery
where owner = :owner and name = :endpoint and (:cursor::bigint is null or id < :cursor)
order by id desc
limit :limit
