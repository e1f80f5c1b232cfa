-- The first due jobs by lane, and without a lane the first that is not due yet.
with due as materialized (
    select lane, run_at from entry
    where shard = :shard and aside in ('scheduled', 'retrying') and run_at <= :now
    order by run_at, id
    limit :limit
),
following as materialized (
    select run_at from entry
    where shard = :shard and aside in ('scheduled', 'retrying') and run_at > :now
    order by run_at limit 1
)
select lane, count(*), min(run_at), :now - min(run_at) from due group by lane
union all
select null, 0, null, :now - run_at from following
