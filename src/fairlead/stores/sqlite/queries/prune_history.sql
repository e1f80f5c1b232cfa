delete from record where id = :id and finished_at = :finished_at returning id
