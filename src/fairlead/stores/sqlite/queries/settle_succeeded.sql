-- The common case, many at once: jobs of one claim that succeeded. The plus signs leave only the index of ids.
update or rollback entry as job
set state = 'succeeded', claim = null, owner = :owner, finished_at = :now, room = null,
    error_type = null, error_message = null, failure = null, result = ended.result
from (select value ->> 0 as id, value ->> 1 as fence, value ->> 2 as result from json_each(:rows)) as ended
where job.id = ended.id and +job.fence = ended.fence
    and +job.shard = :shard and +job.state = 'running'
    and +job.claim = :claim
