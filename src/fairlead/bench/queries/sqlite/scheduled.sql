select count(*) from job where state = 'scheduled' and lane = :lane
