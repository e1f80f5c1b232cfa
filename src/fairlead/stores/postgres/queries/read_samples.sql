select date_part('epoch', at), value from sample where at >= now() - :back * interval '1 second' order by at
