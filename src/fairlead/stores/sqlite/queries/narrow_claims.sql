-- These claims say no more than where each of their running jobs lies.
update claim
set (places, jobs, wide) = (
    select json_group_array(json_array(place, place)), count(*), count(*)
    from (
        select distinct job.place
        from json_each(claim.places) as part
        cross join entry as job on job.place between part.value ->> 0 and part.value ->> 1
        where +job.claim = claim.id and +job.state = 'running'
    )
)
where id in (select value from json_each(:claims))
