"""A dependency that is down for a while, with a real worker: jobs wait, nothing dies, and the return is gentle."""

import pytest

from tests.support.outage import Outage


@pytest.mark.timeout(300)
async def test_jobs_whose_dependency_is_down_wait_and_all_succeed_afterwards(store_url: str) -> None:
    outage = Outage(2_000)
    outage.check(await outage.run(store_url))
