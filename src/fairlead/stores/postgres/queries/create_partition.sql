create table {partition} partition of {parent} for values from ({start}) to ({end})
