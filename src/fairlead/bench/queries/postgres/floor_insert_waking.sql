with stored as (
    insert into floor_job (id, lane, state, fence, ready_at, payload)
    select id, 1, 'ready', 0, now(), payload from unnest(:ids::uuid[], :payloads::text[]) as given(id, payload)
)
select pg_notify('fairlead_bench', '')
