-- The guard has just been tested by revive, in the same transaction.
delete from job_history where id = :id and shard = :shard
