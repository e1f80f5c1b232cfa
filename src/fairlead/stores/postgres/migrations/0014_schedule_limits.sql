-- The marks of what the type of a schedule's jobs declared: its limits with the keys of the payload, and what it needs.
alter table schedule add column limits text not null default '';
