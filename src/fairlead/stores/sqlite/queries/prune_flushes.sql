delete from flush where at < :now - :keep
