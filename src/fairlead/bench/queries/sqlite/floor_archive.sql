insert into floor_history (id, lane, state, owner, fence, ready_at, finished_at, payload)
select id, lane, 'succeeded', owner, fence, ready_at, :now, payload
from carray(:places) as given
join floor_job on floor_job.place = given.value
where owner = :owner
