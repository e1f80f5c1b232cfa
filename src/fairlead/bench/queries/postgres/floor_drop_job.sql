drop table if exists floor_job
