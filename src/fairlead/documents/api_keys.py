"""API keys: their document, who calls, and the body that makes a key."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import Field, StringConstraints

from fairlead.core.web.api_keys import IMPLIED, LEAST_RATE, MOST_NAME, MOST_RATE, ApiKey, Grant
from fairlead.documents.base import Body, Document, Name, Text

LONGEST_LIFE = 100 * 366 * 86400.0
CONTROL = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
KeyName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MOST_NAME, pattern=rf"^[^\s{CONTROL}]([^{CONTROL}]*[^\s{CONTROL}])?$"),
]


class KeyCreation(Body):
    """A key to make. With a tenant it sees and touches only what is that tenant's."""

    name: KeyName
    scopes: Annotated[list[Grant], Field(min_length=1, max_length=4)]
    tenant: Name | None = None
    expires_in: Annotated[float, Field(strict=True, gt=0, le=LONGEST_LIFE)] | None = None
    rate: Annotated[float, Field(strict=True, ge=LEAST_RATE, le=MOST_RATE)] | None = Field(
        None, description="Requests a second that it may send to a server process; null is the server's `api_rate`."
    )
    reason: Text | None = None


class KeyDocument(Document):
    """A key, without anything that opens a door."""

    id: str
    name: str
    scopes: list[Grant]
    tenant: str | None
    live: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    rate: float | None

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of a key."""
        assert isinstance(record, ApiKey)
        return super().of(record, scopes=sorted(record.grants), **fields)


class CreatedKeyDocument(KeyDocument):
    """A new key; `key` is shown this once."""

    key: str


class KeyPage(Document):
    """Keys by id; `cursor` continues, and is null at the end."""

    keys: list[KeyDocument]
    cursor: str | None


class MeDocument(Document):
    """Who calls, and what they may do: `tenant` is null for a key of all tenants."""

    id: str
    name: str
    tenant: str | None
    scopes: list[Grant] = Field(description="The key's scopes and all that they include.")
    expires_at: datetime | None
    rate: float | None = Field(description="Requests a second that it may send to a server process.")

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of the caller's key."""
        assert isinstance(record, ApiKey)
        return super().of(record, scopes=sorted({grant for own in record.grants for grant in IMPLIED[own]}), **fields)
