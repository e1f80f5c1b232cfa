-- The places of the first `most` jobs of each lane, a list for each as one text: the cost is that of the lanes and of
-- what is picked.
-- What was claimed is not in the index any more, so there is nothing to pass over, as there is on PostgreSQL.
select group_concat(places)
from (
    select
        (
            select '[' || coalesce(group_concat(place), '') || ']'
            from (
                select place from entry
                where lane = quota.value and state = 'ready'
                order by ready_at, place
                limit :most
            )
        ) as places
    from carray(:lanes) as quota
)
