update control_head set last = :last where single = 1
