select progress.job_id::text, progress.done, progress.total, progress.message, date_part('epoch', progress.at)
from json_to_recordset(:rows::json) as r(id uuid, fence bigint)
join progress on progress.job_id = r.id and progress.shard = :shard and progress.fence = r.fence
