-- What this sample has no figure of; it runs in the transaction that wrote the others.
delete from backlog where tenant not in (select value from json_each(:kept))
