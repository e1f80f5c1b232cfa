-- What becomes ready now is due now; what stays ready keeps its place in time.
update entry
set lane = :lane, state = :state, aside = nullif(:state, 'ready'), payload = coalesce(:payload, payload),
    run_at = case
        when :run_at is not null then :run_at
        when :state = 'ready' and state <> 'ready' then :now
        else run_at
    end,
    ready_at = case when :state = 'ready' then coalesce(ready_at, :now) end
where id = :id and state = :held_state and fence = :fence
returning id
