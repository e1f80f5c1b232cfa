-- The lane and the time are compared as one row, which only the index by lane can look up: the one by time alone would
-- be read from the start of what is due, past the jobs of all other lanes.
with picked as materialized (
    select due.id
    from json_to_recordset(:rows::json) as quota(lane bigint, most integer, since float8)
    cross join lateral (
        select job.id from job
        where job.shard = :shard and job.state in ('scheduled', 'retrying')
            and (job.lane, job.run_at) >= (quota.lane, to_timestamp(quota.since))
            and (job.lane, job.run_at) <= (quota.lane, now())
        order by job.lane, job.run_at, job.id
        limit quota.most
        for update skip locked
    ) as due
)
update job
set state = 'ready', ready_at = now()
where shard = :shard and id = any(array(select id from picked))
returning lane
