select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace where nspname = 'fairlead_bench'
