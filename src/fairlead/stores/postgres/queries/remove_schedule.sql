delete from schedule where name = :name and shard = :shard and version = :seen returning name
