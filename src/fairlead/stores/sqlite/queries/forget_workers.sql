-- A worker that has been gone for a day and owns nothing is of no use to anyone.
delete from worker
where lease_until < :now - 86400
    and not exists (select 1 from claim where claim.owner = worker.id)
