-- The id down to which a listing looks that no index helps: the last of as many jobs as it may look at. None where there
-- are fewer.
select id from entry indexed by job_id
where id < coalesce(:cursor, '~') and +shard = :shard
order by id desc
limit 1 offset :beyond
