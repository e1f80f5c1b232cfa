-- Due jobs by lane: the jobs of other lanes are found past a million due ones of one lane.
create index job_due_lane on job (shard, lane, run_at, id) where state in ('scheduled', 'retrying');

-- Jobs that have not started and must not start after an instant. Few jobs have one, so few have an entry.
create index job_not_after on job (shard, not_after, id) where not_after is not null and state <> 'running';
