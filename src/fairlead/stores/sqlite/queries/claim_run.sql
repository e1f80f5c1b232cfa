-- The same as claim for jobs that lie side by side: without a list, each row is found and written in one go.
update or rollback entry
set state = 'running', claim = :claim, fence = fence + 1, attempt = attempt + 1, started_at = :now,
    room = '                                           '
where place between :first and :last
