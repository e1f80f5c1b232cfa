with gone as (
    delete from job_history
    where (id, finished_at, shard) in (
        select old.id, old.finished_at, old.shard
        from job_history as old
        join lane on lane.id = old.lane
        left join json_to_recordset(:rows::json) as r(type text, retention float8) on r.type = lane.type
        where old.shard = :shard
            and old.finished_at < now() - :shortest * interval '1 second'
            and old.finished_at < now() - coalesce(r.retention, :retention) * interval '1 second'
        limit :limit
    )
    returning id
),
forgotten as (
    delete from effect where shard = :shard and job_id = any(array(select id from gone))
),
unreported as (
    delete from progress where shard = :shard and job_id = any(array(select id from gone))
)
select id from gone
