-- One submission at a time for a tenant whose waiting jobs are counted; the lock ends with the transaction.
select pg_advisory_xact_lock(hashtextextended(:tenant, 7046029254386353131))
