create temporary table lane_list (position integer primary key, id integer not null)
