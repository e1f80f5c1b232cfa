select count(*) from attempt
