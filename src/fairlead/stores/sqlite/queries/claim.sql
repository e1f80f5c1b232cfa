-- An error would undo the whole transaction. Saying so spares a copy of each page, kept to undo this statement alone.
-- What the claim adds to the row is taken from its room.
update or rollback record
set state = 'running', claim = :claim, fence = fence + 1, attempt = attempt + 1, started_at = :now,
    room = substr(room, 12)
where place in (select value from json_each(:places))
