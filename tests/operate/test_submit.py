"""Submitting by what is registered."""

import pytest

from fairlead import App, ConfigError, InvalidArguments, UnknownType
from fairlead.client.by_name import submit_registered
from fairlead.core.jobs.job_records import JobType
from fairlead.core.jobs.retry import Retry
from fairlead.handlers.options import Options
from fairlead.handlers.registered import check_schema, retry_of


async def test_the_job_runs_like_one_that_the_handler_submitted(store_url: str) -> None:
    app = App(store_url)

    @app.handler("add")
    async def add(left: int, right: int = 1) -> int:
        return left + right

    async with app, app.worker():
        client = await app.client()
        await client.store.types.register([app.registry["add"].job_type()])
        job = await submit_registered(client, "add", {"left": 2}, Options(tenant="acme"), app.settings)
        assert await job.wait(timeout=20) == 3
        assert (job.type, job.tenant, job.duplicate) == ("add", "acme", False)


async def test_without_any_type(store_url: str) -> None:
    async with App(store_url) as app:
        with pytest.raises(UnknownType, match="registered are: none"):
            await submit_registered(await app.client(), "add", {}, Options(), app.settings)


def test_problems_are_few_and_short() -> None:
    schema = {"additionalProperties": {"type": "integer"}}
    with pytest.raises(InvalidArguments) as caught:
        check_schema(JobType("t", 1, "short", schema), {f"n{number}": "x" * 5000 for number in range(50)})
    assert len(str(caught.value)) < 2000


def test_nested_places_are_named() -> None:
    schema = {"properties": {"items": {"items": {"type": "integer"}}}}
    with pytest.raises(InvalidArguments, match=r"items\.1: "):
        check_schema(JobType("t", 1, "short", schema), {"items": [1, "two"]})


@pytest.mark.parametrize("schema", [{"$ref": "http://127.0.0.1:1/schema"}, {"$ref": "file:///etc/passwd"}, {"type": 5}])
def test_a_schema_that_cannot_be_used_fetches_nothing(schema: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        check_schema(JobType("t", 1, "short", schema), {})


def test_the_declared_retry_policy_is_the_base() -> None:
    settings = {"retry": {"attempts": 3, "first": 2.0, "factor": 3.0, "cap": 60.0}}
    assert retry_of(JobType("t", 1, "short", {}, settings)) == Retry(3, "2s", 3.0, "60s")
    assert retry_of(JobType("t", 1, "short", {})) == Retry()
