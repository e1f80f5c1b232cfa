"""The statements of the bare loop, for each database."""

POSTGRES = {
    "drop_job": "drop table if exists floor_job",
    "create_job": """
        create table floor_job (
            id uuid primary key with (fillfactor = 45),
            lane bigint not null,
            ready_at timestamptz not null,
            fence bigint not null,
            owner uuid,
            state text not null,
            payload text not null
        ) with (fillfactor = 45)
    """,
    "create_ready": "create index floor_ready on floor_job (lane, ready_at, id) where state = 'ready'",
    "drop_history": "drop table if exists floor_history",
    "create_history": """
        create table floor_history (
            id uuid primary key,
            lane bigint not null,
            fence bigint not null,
            ready_at timestamptz not null,
            finished_at timestamptz not null,
            owner uuid,
            state text not null,
            payload text not null
        )
    """,
    "insert": """
        insert into floor_job (id, lane, state, fence, ready_at, payload)
        select id, 1, 'ready', 0, now(), payload
        from unnest(%(ids)b::uuid[], %(payloads)b::text[]) as given(id, payload)
    """,
    "insert_waking": """
        with stored as (
            insert into floor_job (id, lane, state, fence, ready_at, payload)
            select id, 1, 'ready', 0, now(), payload
            from unnest(%(ids)b::uuid[], %(payloads)b::text[]) as given(id, payload)
        )
        select pg_notify('fairlead_bench', '')
    """,
    "claim": """
        with picked as materialized (
            select id from floor_job
            where lane = 1 and state = 'ready' and ready_at >= %(since)b
            order by ready_at, id
            limit %(count)b
            for update skip locked
        )
        update floor_job
        set state = 'running', owner = %(owner)b::uuid, fence = fence + 1
        where id = any(array(select id from picked))
        returning id::text, ready_at, payload
    """,
    "settle": """
        with gone as (
            delete from floor_job where id = any(%(ids)b::uuid[]) and owner = %(owner)b::uuid
            returning id, lane, owner, fence, ready_at, payload
        )
        insert into floor_history (id, lane, state, owner, fence, ready_at, finished_at, payload)
        select id, lane, 'succeeded', owner, fence, ready_at, now(), payload from gone
    """,
}

SQLITE = {
    "drop_job": "drop table if exists floor_job",
    "create_job": """
        create table floor_job (
            place integer primary key autoincrement,
            id blob not null unique,
            lane integer not null,
            state text not null,
            owner blob,
            fence integer not null,
            ready_at real not null,
            finished_at real,
            payload text not null
        )
    """,
    "create_ready": "create index floor_ready on floor_job (lane, ready_at, place) where state = 'ready'",
    "insert": """
        insert into floor_job (id, lane, state, fence, ready_at, payload)
        values (:id, 1, 'ready', 0, :now, :payload)
    """,
    "pick": """
        select place, ready_at, payload from floor_job
        where lane = 1 and state = 'ready' and ready_at >= :since
        order by ready_at, place
        limit :count
    """,
    "claim": """
        update floor_job
        set state = 'running', owner = :owner, fence = fence + 1
        where place in (select value from carray(:places))
    """,
    "claim_run": """
        update floor_job
        set state = 'running', owner = :owner, fence = fence + 1
        where place between :first and :last
    """,
    "settle": """
        update floor_job
        set state = 'succeeded', finished_at = :now
        where place in (select value from carray(:places)) and owner = :owner
    """,
    "settle_run": """
        update floor_job
        set state = 'succeeded', finished_at = :now
        where place between :first and :last and owner = :owner
    """,
}
