select date_part('epoch', s.next_at - now()) from schedule as s
where s.shard = :shard and s.state = 'active' and s.next_at is not null
order by s.next_at limit 1
