"""The state of the system, with bounds on what a submission can make of it."""

import fairlead
from fairlead.insight.system_status import MOST_POOLS, pool_stats, system_status


async def test_thousands_of_pools_do_not_make_thousands_of_lines() -> None:
    async with fairlead.App("sqlite:///:memory:") as app:

        @app.handler("mail")
        async def mail() -> None: ...

        for number in range(MOST_POOLS + 20):
            await mail.options(pool=f"p{number}").enqueue()
        for _ in range(2):
            await mail.options(pool="zz").enqueue()
        async with app.worker(pools=("zzz",)):
            pools = [pool.pool for pool in await pool_stats(await app.store())]
            assert len(pools) == MOST_POOLS
            assert {"zz", "zzz"} <= set(pools), "those with workers and with the most jobs are shown"
            status = await system_status(await app.store())
        assert len(status.health.alerts) < 20
