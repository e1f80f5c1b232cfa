select count(*) from record indexed by job_due_lane
where shard = 0 and state in ('scheduled', 'retrying') and state = 'scheduled' and lane = :lane
