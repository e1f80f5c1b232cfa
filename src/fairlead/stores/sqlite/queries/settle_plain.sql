-- The most common case: jobs of one claim that succeeded without a result, all claimed as often, by their places.
-- An error would undo the whole transaction, as in a claim. The row stays as long as it was.
update or rollback entry
set state = 'succeeded', claim = null, owner = :owner, finished_at = :now, room = ' ',
    error_type = null, error_message = null, failure = null
where place in (select value from carray(:places))
    and +shard = :shard and +state = 'running' and +fence = :fence
    and claim = :claim
