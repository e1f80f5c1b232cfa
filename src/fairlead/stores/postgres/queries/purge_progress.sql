delete from progress
where shard = :shard and job_id = any(array(select r.id from json_to_recordset(:rows::json) as r(id uuid)))
