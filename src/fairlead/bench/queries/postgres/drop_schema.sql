drop schema if exists fairlead_bench cascade
