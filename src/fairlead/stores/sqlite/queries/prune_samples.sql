delete from sample where at < :now - :kept
