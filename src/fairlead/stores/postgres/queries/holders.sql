-- From owner to owner along the index of running jobs, as count_running does: the cost is that of what runs.
with recursive owners as (
    (
        select owner from job
        where shard = :shard and state = 'running'
        order by owner limit 1
    )
    union all
    select following.owner
    from owners
    cross join lateral (
        select owner from job
        where shard = :shard and state = 'running' and owner > owners.owner
        order by owner limit 1
    ) as following
)
select running.id::text, running.lane, date_part('epoch', running.started_at), owners.owner::text
from owners
cross join lateral (
    select id, lane, started_at from job
    where shard = :shard and state = 'running' and owner = owners.owner
        and lane in (select json_array_elements_text(:lanes::json)::bigint)
    offset 0
) as running
order by running.started_at, running.id
limit :most
