"""The audit: what operators did, each entry bound to the one before it by a hash.

The hash of an entry is taken over its own fields and the hash of its predecessor. Whoever changes, removes or inserts
a row afterwards would have to write every later one again, and the head, which keeps the number and the hash of the
last entry. It shows tampering with rows; it cannot show that someone replaced the whole table and its head, so keep
the head's hash elsewhere now and then.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, NamedTuple

FIRST = ""


@dataclass(frozen=True, slots=True)
class AuditNote:
    """Who does what, to be written in the transaction that does it; the store adds how many jobs and which."""

    actor: str
    action: str
    target: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def about(self, **more: Any) -> "AuditNote":
        """The note with more details."""
        return AuditNote(self.actor, self.action, self.target, {**self.details, **more})


class AuditHead(NamedTuple):
    """Where the chain ends: the number and the hash of its last entry."""

    last: int
    hash: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One entry as it is kept; `details` is JSON text, as it was hashed."""

    id: int
    at: float
    actor: str
    action: str
    target: str
    details: str
    previous_hash: str
    hash: str


class Flaw(NamedTuple):
    """A place where the chain does not hold."""

    entry: int
    message: str


def next_entry(note: AuditNote, head: AuditHead, at: float) -> AuditEntry:
    """The entry that follows the head."""
    details = json.dumps(note.details, sort_keys=True, separators=(",", ":"))
    entry = AuditEntry(head.last + 1, at, note.actor, note.action, note.target, details, head.hash, "")
    return replace(entry, hash=hash_of(entry))


def hash_of(entry: AuditEntry) -> str:
    """The hash that an entry with these fields must have; instants count in microseconds, as databases keep them."""
    fields = [
        entry.id, round(entry.at * 1_000_000), entry.actor, entry.action, entry.target, entry.details,
        entry.previous_hash,
    ]  # fmt: skip
    return sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def check(newest_first: Iterable[AuditEntry], head: AuditHead) -> tuple[list[Flaw], AuditHead]:
    """Where these entries are not the chain that ends in the head, and the head that those before them must have."""
    found: list[Flaw] = []
    for entry in newest_first:
        found += _flaws_of(entry, head)
        head = AuditHead(entry.id - 1, entry.previous_hash)
    return found, head


def check_beginning(head: AuditHead) -> list[Flaw]:
    """What is wrong where no entry is left."""
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
