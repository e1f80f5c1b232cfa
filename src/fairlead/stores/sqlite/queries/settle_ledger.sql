insert into ledger (minute, pool, tenant, delivered, reserved, settled, entitled, waiting)
values (:minute, :pool, :tenant, 0, 0, :settled, :entitled, :waiting)
on conflict (minute, pool, tenant) do update
set settled = excluded.settled, entitled = ledger.entitled + excluded.entitled,
    waiting = max(ledger.waiting, excluded.waiting)
where ledger.settled = :seen
