delete from worker where id = :id::uuid
