-- Jobs that are ready at the same time go in the order of their places, which every index has: it need not hold ids too.
drop index job_ready;
create index job_ready on job (shard, lane, ready_at) where state = 'ready';
