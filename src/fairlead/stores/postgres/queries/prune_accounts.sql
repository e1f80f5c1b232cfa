delete from share where touched_at < now() - :keep * interval '1 second'
