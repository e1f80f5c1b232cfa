select lane.id from lane where lane.limits like '%=%' limit 1
