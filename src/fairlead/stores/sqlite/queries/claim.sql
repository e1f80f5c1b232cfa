-- An error would undo the whole transaction. Saying so spares a copy of each page, kept to undo this statement alone.
-- What the claim adds to a row is taken from its room: one that stays as long as it was is written over in place. What
-- is left of the room is written out, since to cut it would cost as much as to write the row.
update or rollback entry
set state = 'running', claim = :claim, fence = fence + 1, attempt = attempt + 1, started_at = :now,
    room = '                                           '
where place in (select value from json_each(:places))
