select count(*)
from (
    select 1
    from (select lane, ready_at, place from entry as job where id = :id and state = 'ready') as own
    cross join entry as job on job.state = 'ready' and job.lane = own.lane
        and (job.ready_at, job.place) < (own.ready_at, own.place)
    limit :limit
)
