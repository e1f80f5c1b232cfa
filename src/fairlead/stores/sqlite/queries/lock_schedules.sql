select s.name from schedule as s
where s.name = :name and s.version = :version and s.shard = :shard and s.state = 'active'
