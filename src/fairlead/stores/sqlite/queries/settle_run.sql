-- The same as settle_plain for jobs that lie side by side: without a list, each row is found and written in one go.
update or rollback entry
set state = 'succeeded', claim = null, owner = :owner, finished_at = :now, room = ' ',
    error_type = null, error_message = null, failure = null
where place between :first and :last
    and +shard = :shard and +state = 'running' and +fence = :fence
    and claim = :claim
