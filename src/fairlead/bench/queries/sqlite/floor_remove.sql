delete from floor_job where place in (select value from carray(:places)) and owner = :owner
