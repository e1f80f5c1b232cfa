drop table {partition}
