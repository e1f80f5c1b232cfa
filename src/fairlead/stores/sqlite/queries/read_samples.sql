select at, value from sample where at >= :now - :back order by at
