delete from run_count using json_to_recordset(:rows::json) as r(subject text) where run_count.subject = r.subject
