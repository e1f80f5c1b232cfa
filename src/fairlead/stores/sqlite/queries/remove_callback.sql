delete from callback_endpoint where owner = :owner and name = :name returning name
