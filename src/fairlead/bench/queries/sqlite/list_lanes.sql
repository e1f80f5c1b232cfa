insert into lane_list select key, value from json_each(:ids)
