select
    s.name, s.expression, s.zone, s.pool, s.tenant, s.type, s.priority, s.type_version, s.limits, s.payload, s.options,
    s.overlap, s.catch_up, s.catch_up_window, s.start_within, s.owner, s.state, s.version,
    s.handled_until, s.next_at,
    :now, count(job.id), count(job.id) filter (where job.fence = 0)
from schedule as s
left join schedule_fire as fire on fire.schedule = s.name and fire.shard = s.shard and fire.job_id is not null
left join entry as job on job.id = fire.job_id and job.finished_at is null
where s.name = :schedule and s.shard = :shard
group by s.name
