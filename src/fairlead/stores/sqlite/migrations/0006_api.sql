-- Keys of the HTTP API: only a hash of each is kept.
create table api_key (
    id text primary key,
    name text not null,
    grants text not null,
    tenant text,
    hash text not null,
    created_at real not null,
    expires_at real,
    revoked_at real,
    last_used_at real
);

-- Answers to requests with an Idempotency-Key. One without a status is being worked on until its lock ends.
create table api_answer (
    scope text not null,
    key text not null,
    token text not null,
    digest text not null,
    locked_until real not null,
    expires_at real not null,
    status integer,
    headers text,
    body text,
    primary key (scope, key)
);
create index api_answer_expired on api_answer (expires_at);
