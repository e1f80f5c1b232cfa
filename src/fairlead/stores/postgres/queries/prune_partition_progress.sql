delete from progress where job_id in (select id from {partition})
