delete from flush where at < now() - :keep * interval '1 second'
