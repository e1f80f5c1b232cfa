comment on schema fairlead_bench is 'made by fairlead bench'
