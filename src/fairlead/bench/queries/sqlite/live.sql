select count(*) from live
