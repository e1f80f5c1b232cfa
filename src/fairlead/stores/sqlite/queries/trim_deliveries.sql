delete from callback_delivery
where owner = :owner and name = :name
    and id <= (
        select newer.id from callback_delivery as newer
        where newer.owner = :owner and newer.name = :name
        order by newer.id desc limit 1 offset :kept
    )
