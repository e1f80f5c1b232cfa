-- The same as read_claimed for jobs that lie side by side.
select
    json_group_array(
        json_array(
            id, lane, payload, attempt, crashes, fence,
            ready_at, :now - created_at, not_after - :now, unique_key, options, place
        )
    )
from entry
where place between :first and :last
    and claim = (select claim.id from claim where claim.owner = :owner and claim.lease = :lease)
