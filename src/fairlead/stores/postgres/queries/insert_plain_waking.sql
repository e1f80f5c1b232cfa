-- The same as insert_plain, with hints that leave with the commit.
with stored as (
    insert into job (
        id, shard, lane, state, attempt, crashes, fence, run_at, ready_at, created_at, payload
    )
    select r.id, :shard, r.lane, 'ready', 0, 0, 0, now(), now(), now(), r.payload
    from unnest(
        :ids::uuid[], :lanes::bigint[], :payloads::text[]
    ) as r(id, lane, payload)
)
select pg_notify('fairlead', pool) from json_array_elements_text(:pools::json) as pool
