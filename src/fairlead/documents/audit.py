"""The audit: what operators did, and whether the record of it was changed."""

from datetime import datetime
from typing import Any, Self

from fairlead.core.insight.audit import AuditEntry
from fairlead.documents.base import Document, json_value


class AuditDocument(Document):
    """One entry: who did what to which target; its hash covers the entry before it."""

    id: int
    at: datetime
    actor: str
    action: str
    target: str
    details: dict[str, Any]
    previous_hash: str
    hash: str

    @classmethod
    def of(cls, record: object, **fields: Any) -> Self:
        """The document of an entry."""
        assert isinstance(record, AuditEntry)
        return super().of(record, details=json_value(record.details), **fields)


class AuditPage(Document):
    """Entries, newest first; `cursor` continues, and is null at the end."""

    entries: list[AuditDocument]
    cursor: int | None


class FlawDocument(Document):
    """An entry that does not fit the chain."""

    entry: int | None
    message: str


class Verification(Document):
    """Whether the audit is as it was written, and the hash that it ends with."""

    sound: bool
    entries: int
    hash: str
    flaws: list[FlawDocument]

    @classmethod
    def of(cls, record: Any, **fields: Any) -> Self:
        """The document of a verification."""
        flaws = [FlawDocument.of(flaw) for flaw in record.flaws]
        return super().of(record, hash=record.head.hash, flaws=flaws, **fields)
