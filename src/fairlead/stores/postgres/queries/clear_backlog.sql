-- What this sample has no figure of; it runs in the transaction that wrote the others.
delete from backlog where not (tenant = any(array(select json_array_elements_text(:kept::json))))
