-- The last write of each source of figures that add up, so that one whose answer was lost can be sent again.
create table flush (
    source uuid primary key,
    number bigint not null,
    at timestamptz not null
) with (fillfactor = 50);
