select date_part('epoch', started_at - created_at) as waited
from job_history
where finished_at >= to_timestamp(:since) and finished_at < to_timestamp(:until)
order by waited
limit 1 offset :position
