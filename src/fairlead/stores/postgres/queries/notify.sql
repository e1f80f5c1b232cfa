-- A hint needs no flush of the disk, so its transaction does without.
select pg_notify('fairlead', :pool)
from (select set_config('synchronous_commit', 'off', true)) as unflushed
