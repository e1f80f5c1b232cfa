-- Whether there are more live jobs than so many.
select 1 from live limit 1 offset :most
