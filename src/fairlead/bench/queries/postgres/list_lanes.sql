insert into lane_list
select position - 1, id::bigint from json_array_elements_text(:ids::json) with ordinality as given(id, position)
