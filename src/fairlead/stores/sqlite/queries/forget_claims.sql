-- Of these claims, those of which nothing runs any more.
delete from claim
where id in (select value from json_each(:claims))
    and not exists (
        select 1
        from json_each(claim.places) as part
        cross join entry as job on job.place between part.value ->> 0 and part.value ->> 1
        where +job.claim = claim.id and +job.state = 'running'
    )
