-- The first due jobs by lane, and without a lane the first that is not due yet.
with due as materialized (
    select lane, run_at from job
    where shard = :shard and state in ('scheduled', 'retrying') and run_at <= now()
    order by run_at, id
    limit :limit
)
select lane, count(*), date_part('epoch', min(run_at)), date_part('epoch', now() - min(run_at)) from due group by lane
union all
(
    select null, 0, null, date_part('epoch', now() - run_at) from job
    where shard = :shard and state in ('scheduled', 'retrying') and run_at > now()
    order by run_at limit 1
)
