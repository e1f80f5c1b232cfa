delete from ledger where minute < now() - :keep * interval '1 second'
