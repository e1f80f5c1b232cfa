select started_at - created_at as waited
from job_history
where finished_at >= :since and finished_at < :until
order by waited
limit 1 offset :position
