update floor_job
set state = 'running', owner = :owner, fence = fence + 1
where place in (select value from carray(:places))
