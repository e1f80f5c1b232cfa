"""Settings that operators change at run time: one document for all kinds."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from pydantic import Field

from fairlead.documents.base import Body, Document, Text


class SettingBody(Body):
    """The fields of a setting, and why they are set. `GET /v1/settings` lists the fields of each kind."""

    value: dict[str, Any] = Field(default_factory=dict, max_length=20)
    reason: Text | None = None


class SettingDocument(Document):
    """A setting in force: set by an operator, declared by code, or the default. Durations are seconds."""

    kind: str
    name: str = Field(description="With its scope where the kind has some: `tenant:acme`, `type:report`.")
    value: dict[str, Any] | None = Field(description="Null where nothing is in force.")
    state: dict[str, Any] = Field(description="Figures beside it, such as its use now.")
    version: int = Field(description="Counts its changes and is its ETag; 0 where no operator has set it.")
    set_at: datetime | None

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a setting."""
        value, state = getattr(record, "value", None), getattr(record, "state", {})
        shown = None if value is None else _plain(value)
        return super().of(record, value=shown, state=_plain(state), **fields)


class SettingList(Document):
    """Settings of a kind, by name."""

    settings: list[SettingDocument]


class FieldDocument(Document):
    """A field of a setting."""

    name: str
    about: str


class KindDocument(Document):
    """A kind of setting: what it is for, a name as an example, and its fields."""

    name: str
    about: str
    example: str
    fields: list[FieldDocument]


class KindList(Document):
    """All kinds of settings."""

    kinds: list[KindDocument]


class HolderDocument(Document):
    """A job that runs under a limit."""

    id: str
    tenant: str
    since: datetime
    worker: str | None


class HolderList(Document):
    """The jobs that run under a limit, those that run longest first."""

    holders: list[HolderDocument]


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with lists for tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
