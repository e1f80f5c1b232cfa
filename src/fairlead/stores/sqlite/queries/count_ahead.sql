select count(*)
from (
    select 1
    from (select lane, ready_at, id from job where id = :id and state = 'ready') as own
    cross join job on job.shard = :shard and job.state = 'ready' and job.lane = own.lane
        and (job.ready_at, job.id) < (own.ready_at, own.id)
    limit :limit
)
