-- Those that are still what was seen; one that another scheduler has in hands is left to it.
select s.name from schedule as s
join json_to_recordset(:rows::json) as r(name text, version bigint) on s.name = r.name and s.version = r.version
where s.shard = :shard and s.state = 'active'
order by s.name
for update of s skip locked
