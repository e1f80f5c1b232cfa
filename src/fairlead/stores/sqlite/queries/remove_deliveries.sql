delete from callback_delivery where owner = :owner and name = :name
