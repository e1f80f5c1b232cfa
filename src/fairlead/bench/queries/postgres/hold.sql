-- Gives this transaction a number and a snapshot: nothing that dies after it can be cleaned away before it ends.
select txid_current()
