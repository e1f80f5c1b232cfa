create temporary table lane_list (position bigint primary key, id bigint not null)
