insert into ledger (minute, pool, tenant, delivered, reserved, settled, entitled, waiting)
values (cast(:now / 60 as integer) * 60, :pool, :tenant, :delivered, :reserved, 0, 0, 0)
on conflict (minute, pool, tenant) do update
set delivered = ledger.delivered + excluded.delivered, reserved = ledger.reserved + excluded.reserved
