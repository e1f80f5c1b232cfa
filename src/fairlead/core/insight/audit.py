"""The audit log of operators' actions, as a hash chain.

The hash of an entry covers its fields and the hash of the entry before it. To change, remove or insert a row, one would
have to rewrite every later row and the head, which has the number and the hash of the last entry. The chain reveals
changed rows. It cannot reveal a replacement of the whole table with its head, so store the head's hash elsewhere from
time to time.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

FIRST = ""


@dataclass(frozen=True, slots=True)
class AuditNote:
    """An action to record in the transaction that does it; the store adds the number and ids of jobs."""

    actor: str
    action: str
    target: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def about(self, **more: Any) -> "AuditNote":
        """Return the note with more details."""
        return AuditNote(self.actor, self.action, self.target, {**self.details, **more})


class AuditHead(NamedTuple):
    """The head of the chain: number and hash of the last entry."""

    last: int
    hash: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A stored entry; `details` is the JSON text that was hashed."""

    id: int
    at: float
    actor: str
    action: str
    target: str
    details: str
    previous_hash: str
    hash: str


class Flaw(NamedTuple):
    """A place where the chain is broken."""

    entry: int
    message: str


def next_entry(note: AuditNote, head: AuditHead, at: float) -> AuditEntry:
    """Return the entry that follows the head."""
    details = json.dumps(note.details, sort_keys=True, separators=(",", ":"))
    entry = AuditEntry(head.last + 1, at, note.actor, note.action, note.target, details, head.hash, "")
    return replace(entry, hash=hash_of(entry))


def hash_of(entry: AuditEntry) -> str:
    """Return the hash of an entry's fields; instants are in microseconds, as databases store them."""
    fields = [
        entry.id, round(entry.at * 1_000_000), entry.actor, entry.action, entry.target, entry.details,
        entry.previous_hash,
    ]  # fmt: skip
    return sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def check(newest_first: Iterable[AuditEntry], head: AuditHead) -> tuple[list[Flaw], AuditHead]:
    """Return the flaws of these entries as the end of a chain with this head, and the head before them."""
    found: list[Flaw] = []
    for entry in newest_first:
        found += _flaws_of(entry, head)
        head = AuditHead(entry.id - 1, entry.previous_hash)
    return found, head


def check_beginning(head: AuditHead) -> list[Flaw]:
    """Return the flaws when no entry is left to check."""
    if head.last > 0:
        return [Flaw(head.last, f"{_span(1, head.last)} removed")]
    if head.hash != FIRST:
        return [Flaw(head.last + 1, "the first entry names a predecessor that there never was")]
    return []


def _flaws_of(entry: AuditEntry, expected: AuditHead) -> list[Flaw]:
    found = []
    if entry.id > expected.last:
        found.append(Flaw(entry.id, f"entry {entry.id} was inserted: the chain ends or goes on at {expected.last}"))
    elif entry.id < expected.last:
        found.append(Flaw(entry.id + 1, f"{_span(entry.id + 1, expected.last)} removed"))
    elif entry.hash != expected.hash:
        found.append(Flaw(entry.id, f"entry {entry.id} is not the one that its successor was written after"))
    if entry.hash != hash_of(entry):
        found.append(Flaw(entry.id, f"entry {entry.id} was edited: its hash does not fit what it says"))
    return found


def _span(first: int, last: int) -> str:
    return f"entry {first} was" if first == last else f"entries {first} to {last} were"
