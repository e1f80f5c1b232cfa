-- A claim writes a job anew. Where its page has room for that, nothing is locked twice, no page is added and less is
-- logged; and the primary key's pages take the new version's entry without being divided. What is stored already stays
-- as it is. Takes a lock on the table for a moment.
alter table job set (fillfactor = 42);
alter index job_pkey set (fillfactor = 42);
