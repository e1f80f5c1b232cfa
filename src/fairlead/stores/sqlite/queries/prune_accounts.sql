delete from share where touched_at < :now - :keep
