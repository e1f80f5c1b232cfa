"""Who did what: reading the audit and checking that nobody changed it."""

from dataclasses import dataclass

from fairlead.core.insight.audit import AuditEntry, AuditHead, Flaw, check, check_beginning
from fairlead.records.store import Store

PAGE = 1_000


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
