-- name: prune_history
-- Removes finished jobs of these types that ended in this time, the oldest first, with all that is kept beside them.
-- {table} is the history, or the part of it that is never dropped.
with gone as (
    delete from {table}
    where (id, finished_at, shard) in (
        select old.id, old.finished_at, old.shard
        from {table} as old
        where old.shard = :shard
            and old.finished_at >= to_timestamp(:after) and old.finished_at < to_timestamp(:before)
            and old.lane in (
                select lane.id from lane where lane.type in (select json_array_elements_text(:types::json))
            )
        order by old.finished_at
        limit :limit
    )
    returning id, finished_at
),
forgotten as (
    delete from effect where shard = :shard and job_id = any(array(select id from gone))
),
unreported as (
    delete from progress where shard = :shard and job_id = any(array(select id from gone))
),
resumed as (
    delete from checkpoint where shard = :shard and job_id = any(array(select id from gone))
),
unnoted as (
    delete from attempt where shard = :shard and job_id = any(array(select id from gone))
)
select count(*), date_part('epoch', max(finished_at)) from gone

-- name: count_partition
-- How many jobs go with a partition; an estimate where it was analysed and all go, since counting a day of history would
-- cost more than dropping it.
select case when :whole and reltuples >= 1000000 then reltuples::bigint else (
    select count(*) from {partition}
    where lane not in (
        select lane.id from lane where lane.type in (select json_array_elements_text(:types::json))
    )
) end
from pg_class
where oid = :name::regclass

-- name: keep_history
-- What is kept for longer than a day's partition goes to the part that is never dropped.
insert into job_history
select * from {partition}
where lane in (select lane.id from lane where lane.type in (select json_array_elements_text(:types::json)))

-- name: keep_attempts
-- Runs of jobs that are still there.
insert into attempt
select * from {partition} as old
where exists (select from job where job.id = old.job_id and job.shard = old.shard)
    or exists (select from job_history where job_history.id = old.job_id and job_history.shard = old.shard)

-- name: forget_effects
delete from effect
where job_id in (
    select id from {partition}
    where lane not in (select lane.id from lane where lane.type in (select json_array_elements_text(:types::json)))
)

-- name: forget_progress
delete from progress
where job_id in (
    select id from {partition}
    where lane not in (select lane.id from lane where lane.type in (select json_array_elements_text(:types::json)))
)

-- name: forget_checkpoints
delete from checkpoint
where job_id in (
    select id from {partition}
    where lane not in (select lane.id from lane where lane.type in (select json_array_elements_text(:types::json)))
)

-- name: create_partition
create table {partition} partition of {parent} for values from ({start}) to ({end})

-- name: detach_partition
alter table {parent} detach partition {partition}

-- name: drop_partition
drop table {partition}

-- name: partitions
select child.relname
from pg_inherits
join pg_class as child on child.oid = pg_inherits.inhrelid
join pg_class as parent on parent.oid = pg_inherits.inhparent
where parent.relname = :parent and parent.relnamespace = current_schema()::regnamespace
order by child.relname

-- name: today
select date_part('epoch', now())

-- name: prune_rest_attempts
delete from attempt_rest
where (job_id, fence, ended_at, shard) in (
    select old.job_id, old.fence, old.ended_at, old.shard
    from attempt_rest as old
    where old.shard = :shard
        and old.ended_at < now() - :retention * interval '1 second'
        and not exists (select from job where job.id = old.job_id and job.shard = old.shard)
        and not exists (select from job_history where job_history.id = old.job_id and job_history.shard = old.shard)
    limit :limit
)
