select subject, sum(good), sum(bad), :now - min(first_at), :now
from run_count
where subject = :subject and bucket > :now - span
group by subject
