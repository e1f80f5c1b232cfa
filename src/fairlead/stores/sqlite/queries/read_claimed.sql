-- One row with all that a worker needs to know about the jobs of a claim.
select
    json_group_array(
        json_array(
            id, lane, payload, attempt, crashes, fence,
            ready_at, :now - created_at, not_after - :now, unique_key, options, place
        )
    )
from entry
where place in (select value from json_each(:places))
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
