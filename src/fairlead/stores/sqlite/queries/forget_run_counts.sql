delete from run_count where bucket < :now - span
