-- What was picked is locked, so that its place in the table stays.
with picked as materialized (
    select ready.place
    from json_to_recordset(:rows::json) as quota(lane bigint, most integer, since float8)
    cross join lateral (
        select job.ctid as place from job
        where job.shard = :shard and job.lane = quota.lane and job.state = 'ready'
            and job.ready_at >= to_timestamp(quota.since)
        order by job.ready_at, job.id
        limit quota.most
        for update skip locked
    ) as ready
)
update job
set state = 'running', owner = :owner::uuid, lease = :lease::uuid,
    fence = fence + 1, attempt = attempt + 1, started_at = now()
where ctid = any(array(select place from picked))
returning
    id::text, lane, payload, attempt, crashes, fence,
    date_part('epoch', ready_at), date_part('epoch', now() - created_at), date_part('epoch', not_after - now()),
    unique_key, options, null
