-- What the system looked like, every few seconds for the last hour or so.
create table sample (
    at timestamptz primary key,
    value text not null
);
