-- So many jobs of these claims run no more.
update claim
set jobs = jobs - ended.count
from (
    select value ->> 0 as owner, value ->> 1 as lease, value ->> 2 as count from json_each(:claims)
) as ended
where claim.owner = ended.owner and claim.lease = ended.lease
returning id, jobs, wide
