delete from sample where at < now() - :kept * interval '1 second'
