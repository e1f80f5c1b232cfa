"""Limits in declarations: what jobs' lanes say of them, with the handler's code and without."""

from dataclasses import dataclass
from typing import Any

import pytest

import fairlead
from fairlead.client.client import build_jobs, template_of
from fairlead.config import Settings
from fairlead.errors import ConfigError, InvalidArguments
from fairlead.handlers.options import Options
from fairlead.handlers.registered import registered_marks
from fairlead.handlers.spec import HandlerSpec

SETTINGS = Settings(database_url="sqlite:///:memory:")


@dataclass
class Customer:
    """Somebody with an account."""

    id: int


def spec_with(**options: Any) -> HandlerSpec:
    """The declaration of a handler of charges."""
    app = fairlead.App("sqlite:///:memory:")

    @app.handler("charge", **options)
    async def charge(customer: Customer, region: str = "eu") -> None: ...

    return charge.spec


def marks_of(spec: HandlerSpec, **arguments: Any) -> str:
    """The marks of the lane of a job."""
    (job,) = build_jobs(spec, [arguments], template_of(spec, Options(), SETTINGS), SETTINGS)
    return job.lane.limits


def test_a_plain_handlers_lanes_have_no_marks() -> None:
    assert marks_of(spec_with(), customer=Customer(7)) == ""


@pytest.mark.parametrize("key", ["customer.id", lambda args: args.customer.id], ids=["field", "function"])
def test_a_key_is_a_field_of_the_payload_or_a_function_of_the_arguments(key: Any) -> None:
    spec = spec_with(limit=fairlead.Limit("stripe", concurrent=1, key=key), needs=["ledger"])
    assert marks_of(spec, customer={"id": "7"}) == "@ledger stripe=7"


def test_a_function_sees_the_defaults_of_arguments_that_are_not_given() -> None:
    spec = spec_with(limit=fairlead.Limit("region", rate="5/s", key=lambda args: args.region))
    assert marks_of(spec, customer=Customer(7)) == "region=eu"
    assert marks_of(spec, customer=Customer(7), region="us") == "region=us"


def test_a_key_that_cannot_be_computed_refuses_the_submission() -> None:
    spec = spec_with(limit=fairlead.Limit("stripe", concurrent=1, key=lambda args: args.nothing))
    with pytest.raises(InvalidArguments, match=r"'stripe' of 'charge'.*AttributeError"):
        marks_of(spec, customer=Customer(7))


def test_a_registered_type_gives_the_same_marks_without_the_code() -> None:
    limits = [fairlead.Limit("stripe", concurrent=1, key="customer.id"), fairlead.Limit("all", concurrent=9)]
    spec = spec_with(limit=limits, needs=["ledger"])
    assert registered_marks(spec.job_type(), {"customer": {"id": 7}}) == marks_of(spec, customer=Customer(7))


def test_without_the_code_a_function_cannot_be_computed() -> None:
    job_type = spec_with(limit=fairlead.Limit("stripe", concurrent=1, key=lambda args: 1)).job_type()
    with pytest.raises(ConfigError, match="only the handler's code"):
        registered_marks(job_type, {})
    assert registered_marks(job_type, {}, otherwise="stripe=1") == "stripe=1"


@pytest.mark.parametrize(
    "options",
    [
        {"limit": [fairlead.Limit("a", concurrent=1), fairlead.Limit("a", concurrent=1)]},
        {"limit": [fairlead.Limit(f"limit-{at}", concurrent=1) for at in range(9)]},
        {"needs": "smtp"},
        {"needs": ["not a name"]},
    ],
)
def test_declarations_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        spec_with(**options)


def test_handlers_that_share_a_limit_declare_it_alike() -> None:
    app = fairlead.App("sqlite:///:memory:")
    app.handler("a", limit=fairlead.Limit("shared", concurrent=1))(lambda: None)
    app.handler("b", limit=fairlead.Limit("shared", concurrent=1))(lambda: None)
    with pytest.raises(ConfigError, match="declared elsewhere"):
        app.handler("c", limit=fairlead.Limit("shared", concurrent=2))(lambda: None)
