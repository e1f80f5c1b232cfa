delete from effect where job_id in (select id from {partition})
