-- name: charge_shares
-- Raise the virtual time to where the share began, then by what was charged: `excluded.virtual` is their sum.
insert into share (pool, account, virtual, began, floor, touched_at)
select r.pool, r.account, r.begin + r.virtual, r.begin, r.floor, now()
from json_to_recordset(:rows::json) as r(pool text, account text, begin float8, virtual float8, floor float8)
order by r.pool, r.account
on conflict (pool, account) do update
set virtual = greatest(share.virtual, excluded.began) + (excluded.virtual - excluded.began),
    began = excluded.began, floor = greatest(share.floor, excluded.floor), touched_at = excluded.touched_at

-- name: read_shares
-- The last row is the clock, whatever there is.
select pool, account, virtual, floor from share where touched_at >= to_timestamp(:since::float8)
union all
select null, null, null, date_part('epoch', now())

-- name: prune_accounts
delete from share where touched_at < now() - :keep * interval '1 second'

-- name: add_deliveries
insert into ledger (minute, pool, tenant, delivered, reserved, settled, entitled, waiting)
select date_trunc('minute', now()), r.pool, r.tenant, r.delivered, r.reserved, 0, 0, 0
from json_to_recordset(:rows::json) as r(pool text, tenant text, delivered float8, reserved float8)
where true
order by r.pool, r.tenant
on conflict (minute, pool, tenant) do update
set delivered = ledger.delivered + excluded.delivered, reserved = ledger.reserved + excluded.reserved

-- name: read_ledger
select pool, tenant, entitled, delivered, reserved, waiting, date_part('epoch', minute)::bigint
from ledger
where tenant = :tenant and minute > now() - :window * interval '1 second'
order by minute desc, pool

-- name: sum_ledger
select pool, tenant, sum(entitled), sum(delivered), sum(reserved), max(waiting)
from ledger
where minute > now() - :window * interval '1 second'
group by pool, tenant
order by pool, tenant

-- name: settle_ledger
-- Where nothing was delivered there is no row yet; where there is one, `excluded.delivered` carries what was seen of it.
insert into ledger (minute, pool, tenant, delivered, reserved, settled, entitled, waiting)
select to_timestamp(r.minute), r.pool, r.tenant, r.seen, 0, r.settled, r.entitled, r.waiting
from json_to_recordset(:rows::json)
    as r(minute float8, pool text, tenant text, seen float8, settled float8, entitled float8, waiting bigint)
order by r.minute, r.pool, r.tenant
on conflict (minute, pool, tenant) do update
set settled = excluded.settled, entitled = ledger.entitled + excluded.entitled,
    waiting = greatest(ledger.waiting, excluded.waiting)
where ledger.settled = excluded.delivered

-- name: unsettled_ledger
-- The last row is the present minute, whatever there is.
select date_part('epoch', minute)::bigint, pool, tenant, delivered, settled
from ledger
where minute >= now() - :window * interval '1 second' and delivered > settled
union all
select date_part('epoch', date_trunc('minute', now()))::bigint, null, null, null, null

-- name: prune_ledger
delete from ledger where minute < now() - :keep * interval '1 second'

-- name: add_runs
insert into job_run (hour, type, bucket, runs, seconds)
select date_trunc('hour', now()), r.type, r.bucket, r.runs, r.seconds
from json_to_recordset(:rows::json) as r(type text, bucket integer, runs bigint, seconds float8)
where true
order by r.type, r.bucket
on conflict (hour, type, bucket) do update
set runs = job_run.runs + excluded.runs, seconds = job_run.seconds + excluded.seconds

-- name: run_counts
select type, bucket, sum(runs)::bigint, sum(seconds)
from job_run
where hour > now() - :window * interval '1 second' - interval '1 hour'
    and (:type::text is null or type = :type)
group by type, bucket
order by type, bucket

-- name: prune_runs
delete from job_run where hour < now() - :keep * interval '1 second'

-- name: add_waits
insert into job_wait (minute, pool, bucket, starts)
select date_trunc('minute', now()), r.pool, r.bucket, r.starts
from json_to_recordset(:rows::json) as r(pool text, bucket integer, starts bigint)
where true
order by r.pool, r.bucket
on conflict (minute, pool, bucket) do update set starts = job_wait.starts + excluded.starts

-- name: wait_counts
select pool, bucket, starts, date_part('epoch', minute)::bigint
from job_wait
where minute > now() - :window * interval '1 second' - interval '1 minute'
order by minute, pool, bucket

-- name: prune_waits
delete from job_wait where minute < now() - least(:keep, 86400) * interval '1 second'

-- name: note_flush
insert into flush (source, number, at)
values (:source::uuid, :number, now())
on conflict (source) do update set number = excluded.number, at = excluded.at
where flush.number < excluded.number
returning number

-- name: prune_flushes
delete from flush where at < now() - :keep * interval '1 second'
