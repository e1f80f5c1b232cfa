"""What all documents are made of: the base classes and the types of fields."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints
from pydantic_core import from_json

from fairlead.core.jobs.ids import is_id
from fairlead.core.jobs.model import Priority

FIRST_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
LAST_INSTANT = datetime(9900, 1, 1, tzinfo=UTC)
ID_PATTERN = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
ENDPOINT_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
NAME = "[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,199}"
TEXT_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$"
LONGEST_TIMEOUT = 30 * 86400.0

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:", re.ASCII | re.IGNORECASE)


class Document(BaseModel):
    """A resource as everybody sees it."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a record: the fields given, and the record's attributes of the same names."""
        return cls(**{name: getattr(record, name) for name in cls.model_fields if name not in fields}, **fields)

    def as_json(self) -> dict[str, Any]:
        """The document as JSON has it."""
        return self.model_dump(mode="json")


class Body(BaseModel):
    """The body of a request: what is not known is refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid")


class ProblemDocument(Document):
    """An error as RFC 9457 has it. `code` is stable; `errors` names the places that do not fit."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[dict[str, Any]] | None = None


def json_value(text: str | None) -> Any:
    """A stored JSON text as a value; text that is not JSON stays text."""
    try:
        return None if text is None else from_json(text)
    except ValueError:
        return text


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
    return min(max(value, FIRST_INSTANT), LAST_INSTANT)  # an instant beyond means: long ago, or never


def _whole_id(value: str) -> str:
    if not is_id(value):
        raise ValueError("not an id")
    return value


def _word(value: Any) -> Any:
    return value.word if isinstance(value, Priority) else value


Instant = Annotated[datetime, BeforeValidator(_text_only), AfterValidator(_in_range)]
NUMBER_ONLY = BeforeValidator(_number_only)
Seconds = Annotated[float, Field(strict=True, ge=0, le=3_200_000_000, allow_inf_nan=False)]
Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]
EndpointName = Annotated[str, StringConstraints(pattern=ENDPOINT_PATTERN)]
Text = Annotated[str, StringConstraints(max_length=2_000, pattern=TEXT_PATTERN)]
Reason = Annotated[Text, Field(min_length=1, description="Why, for the audit.")]
Key = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=TEXT_PATTERN)]
Id = Annotated[str, StringConstraints(pattern=ID_PATTERN), AfterValidator(_whole_id)]
PriorityWord = Literal["critical", "high", "default", "low"]
PriorityName = Annotated[PriorityWord, BeforeValidator(_word)]


class Action(Body):
    """An action that needs nothing but its target; `reason` is for the audit."""

    reason: Text | None = None


def priority_of(word: PriorityWord | None) -> Priority | None:
    """The priority that a word names."""
    return None if word is None else Priority.parse(word)
