select pg_notify('fairlead', :pool)
