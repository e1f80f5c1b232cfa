"""The pieces that models are made of."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.model import Priority

MOST_PAGE = 500
FIRST_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
LAST_INSTANT = datetime(9900, 1, 1, tzinfo=UTC)
ID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
ENDPOINT_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
NAME_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9_.:@/-]{0,199}$"
TEXT_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:", re.ASCII | re.IGNORECASE)


class Incoming(BaseModel):
    """A body: what is not known is refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid")


class Outgoing(BaseModel):
    """A document."""

    model_config = ConfigDict(frozen=True)


class ProblemDocument(Outgoing):
    """An error as RFC 9457 has it. `code` is stable; `errors` names the places that do not fit."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[dict[str, Any]] | None = None


def _text_only(value: Any) -> Any:
    if not isinstance(value, datetime) and not (isinstance(value, str) and _DATE.match(value)):
        raise ValueError("an instant is a text like 2030-01-31T08:00:00Z")
    return value


def _number_only(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a whole number is needed")
    return value


def _in_range(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("an instant needs a time zone: add Z or an offset like +02:00")
    return min(max(value, FIRST_INSTANT), LAST_INSTANT)  # what lies beyond means: long ago, or never


def _whole(value: str) -> str:
    if not is_id(value):
        raise ValueError("not an id")
    return value


Instant = Annotated[datetime, BeforeValidator(_text_only), AfterValidator(_in_range)]
NUMBER_ONLY = BeforeValidator(_number_only)
Seconds = Annotated[float, Field(strict=True, ge=0, le=3_200_000_000, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
EndpointName = Annotated[str, StringConstraints(pattern=ENDPOINT_PATTERN)]
Text = Annotated[str, StringConstraints(max_length=2_000, pattern=TEXT_PATTERN)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=TEXT_PATTERN)]
Id = Annotated[str, StringConstraints(pattern=ID_PATTERN), AfterValidator(_whole)]
PriorityWord = Literal["critical", "high", "default", "low"]

JobId = Annotated[str, Path(description="The id of a job.", max_length=100)]
Limit = Annotated[int, Query(ge=1, le=MOST_PAGE, description="How many a page has.")]
Cursor = Annotated[Id | None, Query(description="Go on where a page ended.")]
Moment = Annotated[Instant | None, Query()]
ReasonQuery = Annotated[Text | None, Query(description="Why, for the audit.")]


def priority_of(word: PriorityWord | None) -> Priority | None:
    """The priority that a word names."""
    return None if word is None else Priority.parse(word)
