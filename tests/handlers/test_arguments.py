"""A handler's arguments: checked when submitted, kept as JSON, checked again before they are used."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from fairlead.core.jobs.model import Claim, Lane, Lease, Priority
from fairlead.errors import ConfigError, InvalidArguments, PayloadTooLarge, UnsafePayload
from fairlead.handlers.arguments import Arguments
from fairlead.handlers.context import Context

LIMIT = 64 * 1024


class Address(BaseModel):
    """A pydantic model."""

    street: str
    number: int = Field(gt=0)


@dataclass
class Parcel:
    """A dataclass with a model inside."""

    weight: float
    to: Address


class Colour(StrEnum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


def round_trip(function: Callable[..., Any], **given: Any) -> dict[str, Any]:
    """What the handler would be called with."""
    arguments = Arguments("mail", function)
    return arguments.load(arguments.dump(arguments.bind((), given), LIMIT))


def plain(to: str, count: int = 3) -> None: ...


def test_arguments_come_back_as_they_were() -> None:
    assert round_trip(plain, to="ann", count=5) == {"to": "ann", "count": 5}


def test_a_default_is_left_to_the_function() -> None:
    assert round_trip(plain, to="ann") == {"to": "ann"}


def test_positional_arguments_get_their_names() -> None:
    assert Arguments("mail", plain).bind(("ann", 5), {}) == {"to": "ann", "count": 5}
    assert Arguments("mail", plain).bind(("ann",), {"count": 5}) == {"to": "ann", "count": 5}


@pytest.mark.parametrize(
    ("args", "keywords"), [(("ann", 5, 6), {}), (("ann",), {"to": "bob"}), (("ann", 1), {"count": 2})]
)
def test_an_argument_too_many_or_twice_is_refused(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments, match=r"takes the arguments \(to, count\), each once"):
        Arguments("mail", plain).bind(args, keywords)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "to: Field required"),
        ({"to": "ann", "cuont": 5}, "cuont: Extra inputs"),
        ({"to": "ann", "count": "many"}, "count: Input should be a valid integer"),
        ({"to": None}, "to: Input should be a valid string"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_with_the_place(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidArguments, match=problem):
        round_trip(plain, **given)


def test_a_refusal_does_not_show_what_was_given() -> None:
    """It may be a secret."""
    with pytest.raises(InvalidArguments) as caught:
        round_trip(plain, to="ann", count="hunter2")
    assert "hunter2" not in str(caught.value)


def test_models_and_dataclasses_come_back_as_objects() -> None:
    def handler(parcel: Parcel, address: Address | None = None) -> None: ...

    parcel = Parcel(1.5, Address(street="Main", number=1))
    assert round_trip(handler, parcel=parcel, address=parcel.to) == {"parcel": parcel, "address": parcel.to}


def test_a_model_may_be_given_as_a_dictionary() -> None:
    def handler(address: Address) -> None: ...

    loaded = round_trip(handler, address={"street": "Main", "number": 1})
    assert loaded == {"address": Address(street="Main", number=1)}


def test_the_rules_of_a_model_are_checked() -> None:
    def handler(address: Address) -> None: ...

    with pytest.raises(InvalidArguments, match=r"address\.number"):
        round_trip(handler, address={"street": "Main", "number": 0})


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (datetime, datetime(2026, 3, 1, 12, 30, 5, 250, tzinfo=UTC)),
        (date, date(2026, 3, 1)),
        (timedelta, timedelta(hours=1, microseconds=5)),
        (Decimal, Decimal("1.10")),
        (UUID, UUID(int=5)),
        (Colour, Colour.BLUE),
        (bytes, b"abc"),
        (set[int], {1, 2}),
        (tuple[int, str], (1, "a")),
        (int | str, 5),
        (int | str, "5"),
        (str | None, None),
        (Literal["a", "b"], "b"),
        (dict[str, list[float]], {"a": [1.5]}),
        (Annotated[int, Field(ge=0)], 3),
        (Any, {"free": [1, None, "x"]}),
        (bool, True),
        (int, 2**80),
        (str, '日本 🛟 "quoted" 100 % :x'),
    ],
)
def test_values_of_many_types_come_back(hint: Any, value: Any) -> None:
    def handler(given: Any) -> None: ...

    handler.__annotations__["given"] = hint
    loaded = round_trip(handler, given=value)["given"]
    assert loaded == value
    assert type(loaded) is type(value)


def test_an_argument_without_a_hint_takes_anything() -> None:
    def handler(value, other=5): ...  # type: ignore[no-untyped-def]

    assert round_trip(handler, value=[1, "a"]) == {"value": [1, "a"]}


def test_keyword_only_arguments_work() -> None:
    def handler(*, to: str) -> None: ...

    assert round_trip(handler, to="ann") == {"to": "ann"}


def test_a_function_without_arguments_takes_none() -> None:
    def handler() -> None: ...

    assert round_trip(handler) == {}
    with pytest.raises(InvalidArguments):
        round_trip(handler, to="ann")


def variadic(*names: str) -> None: ...
def keywords(**names: str) -> None: ...
def positional(name: str, /) -> None: ...


@pytest.mark.parametrize(
    ("function", "shown"), [(variadic, r"\*names"), (keywords, r"\*\*names"), (positional, "name, /")]
)
def test_arguments_without_fixed_names_are_refused(function: Callable[..., Any], shown: str) -> None:
    with pytest.raises(ConfigError, match=shown):
        Arguments("mail", function)


def annotated(job: Context, to: str) -> None: ...
def by_name(ctx, to: str) -> None: ...  # type: ignore[no-untyped-def]
def alone(ctx: Context) -> None: ...
def positional_context(ctx: Context, /, to: str) -> None: ...


@pytest.mark.parametrize("function", [annotated, by_name, alone, positional_context])
def test_a_context_is_known_by_its_annotation_and_by_its_name(function: Callable[..., Any]) -> None:
    arguments = Arguments("mail", function)
    assert arguments.takes_context
    assert arguments.schema().get("properties", {}).keys() <= {"to"}


def other_type(ctx: str, to: str) -> None: ...
def second(to: str, number: int) -> None: ...


@pytest.mark.parametrize("function", [other_type, second])
def test_other_first_arguments_are_no_context(function: Callable[..., Any]) -> None:
    assert not Arguments("mail", function).takes_context


def test_a_method_takes_its_arguments_without_self() -> None:
    class Mailer:
        def send(self, ctx: Context, to: str) -> None: ...

    arguments = Arguments("mail", Mailer().send)
    assert arguments.takes_context
    assert arguments.dump({"to": "ann"}, LIMIT) == '{"to":"ann"}'


def test_a_hint_that_cannot_be_resolved_is_refused() -> None:
    def handler(to: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ConfigError, match="TYPE_CHECKING"):
        Arguments("mail", handler)


def test_a_hint_that_cannot_be_validated_is_refused() -> None:
    class Opaque: ...

    def handler(to: Opaque) -> None: ...

    with pytest.raises(ConfigError, match="cannot be validated"):
        Arguments("mail", handler)


@pytest.mark.parametrize("value", ["a\x00b", {"deep": ["\x00"]}, {"\x00": 1}])
def test_nul_is_refused(value: Any) -> None:
    def handler(value: Any) -> None: ...

    with pytest.raises(UnsafePayload, match="NUL"):
        round_trip(handler, value=value)


class Measured(BaseModel):
    """A model with a number."""

    value: float


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("hint", [float, Any, list[float], Measured, Parcel])
def test_numbers_that_json_does_not_have_are_refused(hint: Any, number: float) -> None:
    """Otherwise they would be stored as null, and the job would fail when it runs."""

    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = hint
    value: Any = {list[float]: [number], Measured: {"value": number}}.get(hint, number)
    if hint is Parcel:
        value = Parcel(number, Address(street="Main", number=1))
    with pytest.raises(UnsafePayload):
        round_trip(handler, value=value)


@pytest.mark.parametrize("hint", [str, Any])
def test_half_a_surrogate_pair_is_refused(hint: Any) -> None:
    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = hint
    with pytest.raises((UnsafePayload, InvalidArguments)):
        round_trip(handler, value="\ud800")


def test_an_object_that_cannot_become_json_is_refused() -> None:
    def handler(value: Any) -> None: ...

    with pytest.raises(UnsafePayload):
        round_trip(handler, value=object())


def test_a_payload_that_is_too_large_is_refused() -> None:
    with pytest.raises(PayloadTooLarge):
        Arguments("mail", plain).dump({"to": "x" * 100}, 50)


@pytest.mark.parametrize("payload", ["", "[]", "null", '{"to": 5}', "{", '{"to": "a", "x": 1}'])
def test_a_stored_payload_is_checked_again(payload: str) -> None:
    with pytest.raises(InvalidArguments):
        Arguments("mail", plain).load(payload)


def test_the_schema_tells_what_is_required() -> None:
    schema = Arguments("mail", plain).schema()
    assert schema["required"] == ["to"]
    assert schema["properties"]["count"]["type"] == "integer"
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", ["from", "class", "a-b"])
def test_the_name_of_the_type_may_be_anything(name: str) -> None:
    assert Arguments(name, plain).dump({"to": "ann"}, LIMIT) == '{"to":"ann"}'


def claim(**fields: Any) -> Claim:
    lane = Lane("slow", "acme", "mail", Priority.HIGH, 1)
    return Claim("id", lane, "{}", 1, 0, 1, 0.0, 0.0, None, None, None, Lease("owner", "token"))._replace(**fields)


def test_a_context_tells_about_its_job() -> None:
    context = Context(claim(attempt=2, fence=5))
    assert (context.job_id, context.type, context.tenant, context.pool) == ("id", "mail", "acme", "slow")
    assert (context.priority, context.attempt, context.fence) == (Priority.HIGH, 2, 5)


def test_only_the_first_claim_is_a_first_attempt() -> None:
    assert Context(claim()).first_attempt
    assert not Context(claim(fence=2)).first_attempt


def test_the_idempotency_key_is_the_callers_or_the_id() -> None:
    assert Context(claim(key="k")).idempotency_key == "k"
    assert Context(claim()).idempotency_key == "id"
