-- name: prune_history
-- Finished jobs of these types that ended in this time, the oldest first.
select json_group_array(json_object('id', id)), count(*), max(finished_at)
from (
    select id, finished_at from job_history
    where shard = :shard and finished_at >= :after and finished_at < :before
        and +lane in (select lane.id from lane where lane.type in (select value from json_each(:types)))
    order by finished_at
    limit :limit
)

-- name: remove_history
delete from job_history
where shard = :shard and id in (select json_extract(value, '$.id') from json_each(:rows))
