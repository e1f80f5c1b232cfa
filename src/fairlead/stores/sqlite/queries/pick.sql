-- The places of the first `most` jobs of each lane, as one text: the cost is that of the lanes and of what is picked.
select group_concat(places)
from (
    select
        (
            select group_concat(place)
            from (
                select place from job
                where shard = :shard and lane = quota.value ->> 0 and state = 'ready' and ready_at >= quota.value ->> 1
                order by ready_at, place
                limit :most
            )
        ) as places
    from json_each(:quotas) as quota
)
