-- An error would undo the whole transaction. Saying so spares a copy of each page, kept to undo this statement alone.
update or rollback job
set state = 'running', owner = :owner, lease = :lease, fence = fence + 1, attempt = attempt + 1, started_at = :now
where place in (select value from json_each(:places))
