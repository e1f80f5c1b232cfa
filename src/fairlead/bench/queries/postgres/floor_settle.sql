with gone as (
    delete from floor_job where id = any(:ids::uuid[]) and owner = :owner::uuid
    returning id, lane, owner, fence, ready_at, payload
)
insert into floor_history (id, lane, state, owner, fence, ready_at, finished_at, payload)
select id, lane, 'succeeded', owner, fence, ready_at, now(), payload from gone
