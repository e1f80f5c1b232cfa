"""Who did what: reading the audit and checking that nobody changed it."""

import getpass
import os
import socket
from dataclasses import dataclass
from typing import Any

from fairlead.core.insight.audit import AuditEntry, AuditHead, AuditNote, Flaw, check, check_beginning
from fairlead.errors import ConfigError
from fairlead.records.store import Store

PAGE = 1_000
LONGEST_ACTOR = 200
LONGEST_REASON = 2_000


@dataclass(frozen=True, slots=True)
class Operator:
    """Who acts, and why."""

    actor: str
    reason: str | None = None

    def __post_init__(self) -> None:
        if not self.actor.strip() or not self.actor.isprintable() or len(self.actor) > LONGEST_ACTOR:
            raise ConfigError(f"the actor has 1 to {LONGEST_ACTOR} characters that can be printed")
        if self.reason is not None and len(self.reason) > LONGEST_REASON:
            raise ConfigError(f"the reason has at most {LONGEST_REASON} characters")

    def note(self, action: str, target: str, **details: Any) -> AuditNote:
        """The note about an action, for the store to complete."""
        return AuditNote(self.actor, action, target, {"reason": self.reason, **details})


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at the whole chain found."""

    entries: int
    head: AuditHead
    flaws: tuple[Flaw, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was changed."""
        return not self.flaws


def whoami() -> str:
    """The user of this process and the machine it runs on."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


async def verify_chain(store: Store) -> Verification:
    """Read all entries from the newest to the oldest; an edited, removed or inserted one breaks the chain."""
    head, page = await _end(store)
    expected, found, entries = head, list[Flaw](), 0
    while page:
        flaws, expected = check(page, expected)
        found += flaws
        entries += len(page)
        page = await store.audit.read(PAGE, cursor=page[-1].id)
    found += check_beginning(expected)
    return Verification(entries, head, tuple(sorted(found)))


async def _end(store: Store) -> tuple[AuditHead, list[AuditEntry]]:
    """The head and the entries up to it, though others append: the head is read after the newest entry, so that an
    entry beyond the head is one that nobody appended."""
    newest = await store.audit.read(1)
    head = await store.audit.head()
    last = max(head.last, *(entry.id for entry in newest), 0)
    return head, await store.audit.read(PAGE, cursor=last + 1)
