"""How often a job is tried and when a run is stopped: the job says it, or its type, or its pool."""

from dataclasses import replace
from typing import Any

import pytest

from fairlead import Retry
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.pools import Pools
from fairlead.core.protection.controls import Control, Controls
from fairlead.handlers.spec import declare
from fairlead.insight.job_types import terms_of
from tests.core.insight.test_explain import job


def mail(**declared: Any) -> JobType:
    async def mail(to: str) -> None: ...

    options = {"pool": "short", "version": 1, "timeout": None, "retry": None, "retention": None, "upgrade": None}
    return declare("mail", mail, **{**options, **declared}).job_type()


def pools(**settings: Any) -> Pools:
    controls = Controls()
    controls.follow([Control("pool", "short", settings, 1, 0.0)])
    return Pools(controls)


@pytest.mark.parametrize(
    ("job_type", "options", "expected"),
    [
        (None, None, (None, 60.0)),
        (mail(), None, (8, 60.0)),
        (JobType("mail", 9, "short", {}, {"retry": {"of": "a newer version"}, "timeout": 7.0}), None, (5, 7.0)),
        (JobType("mail", 9, "short", {}, {"policies": {"a new class": {}}, "timeout": 7.0}), None, (5, 7.0)),
        (mail(retry=Retry(attempts=2), timeout="5s"), None, (2, 5.0)),
        (mail(retry=Retry(attempts=2), timeout="5s"), '{"timeout":3.0,"retry":{"attempts":9}}', (9, 3.0)),
    ],
)
def test_the_narrower_wins(job_type: JobType | None, options: str | None, expected: tuple[int | None, float]) -> None:
    assert terms_of(replace(job(), options=options), job_type, pools(attempts=8, timeout=60.0)) == expected
