update floor_job
set state = 'succeeded', finished_at = :now
where place between :first and :last and owner = :owner
