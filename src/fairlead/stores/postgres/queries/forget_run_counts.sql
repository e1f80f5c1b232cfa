delete from run_count where bucket < date_part('epoch', now()) - span
