-- A caller's instants have whole microseconds, the file's are a little finer.
update entry
set lane = :lane, state = :state, aside = nullif(:state, 'ready'), attempt = 0, crashes = 0,
    ready_at = :now, started_at = null, finished_at = null, owner = null,
    error_type = null, error_message = null, failure = null, fingerprint = null, result = null,
    cancel_at = null, cancel_grace = null, cancel_by = null, cancel_reason = null,
    replays = min(replays + 1, 32767), payload = coalesce(:payload, payload)
where id = :id and shard = :shard and state = 'dead' and fence = :fence
    and abs(finished_at - :finished_at) < 0.000001
returning id
