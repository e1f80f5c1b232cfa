update floor_job
set state = 'succeeded', finished_at = :now
where place in (select value from carray(:places)) and owner = :owner
