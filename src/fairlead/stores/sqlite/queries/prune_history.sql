delete from entry where id = :id and finished_at = :finished_at returning id
