select date_part('epoch', now())
