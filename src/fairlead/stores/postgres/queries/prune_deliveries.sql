delete from callback_delivery
where id in (select id from callback_delivery where at < now() - :older_than::float8 * interval '1 second' order by at limit :limit)
returning id
