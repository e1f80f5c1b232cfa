delete from attempt_rest
where (job_id, fence, ended_at, shard) in (
    select old.job_id, old.fence, old.ended_at, old.shard
    from attempt_rest as old
    where old.shard = :shard
        and old.ended_at < now() - :retention * interval '1 second'
        and not exists (select from job where job.id = old.job_id and job.shard = old.shard)
    limit :limit
)
