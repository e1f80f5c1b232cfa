drop table if exists floor_history
