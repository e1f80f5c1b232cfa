delete from worker where id = :id
