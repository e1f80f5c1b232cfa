"""The outage of tests/worker/test_outage.py with many more jobs."""

import pytest

from tests.support.outage import Outage


@pytest.mark.timeout(900)
async def test_ten_thousand_jobs_whose_dependency_is_down_wait_and_all_succeed_afterwards(store_url: str) -> None:
    outage = Outage(10_000)
    outage.check(await outage.run(store_url, concurrency=200))
