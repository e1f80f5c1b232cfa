select count(*) from entry indexed by job_due_lane
where shard = 0 and aside in ('scheduled', 'retrying') and aside = 'scheduled' and lane = :lane
