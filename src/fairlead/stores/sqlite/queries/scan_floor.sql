-- The id down to which a listing looks that no index helps: the last of as many live or
-- finished jobs as it may look at. None where there are fewer.
select id from (
    select * from (
        select id from job indexed by job_id
        where shard = :shard and id < coalesce(:cursor, '~')
        order by id desc
        limit 1 offset :beyond
    )
    union all
    select * from (
        select id from job_history indexed by job_history_id
        where shard = :shard and id < coalesce(:cursor, '~')
        order by id desc
        limit 1 offset :beyond
    )
)
order by id desc
limit 1
