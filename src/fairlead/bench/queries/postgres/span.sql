select
    count(*),
    date_part('epoch', min(started_at)),
    date_part('epoch', max(finished_at))
from job_history
where finished_at >= to_timestamp(:since) and finished_at < to_timestamp(:until)
