-- The last write of each source of figures that add up, so that one whose answer was lost can be sent again.
create table flush (
    source text primary key,
    number integer not null,
    at real not null
) without rowid;
