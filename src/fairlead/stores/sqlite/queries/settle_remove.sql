-- The guard has just been tested by settle_finish, in the same transaction.
delete from job where id = :id and shard = :shard and fence = :held_fence
