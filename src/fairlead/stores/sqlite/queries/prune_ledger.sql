delete from ledger where minute < :now - :keep
