"""Settlements on PostgreSQL: one statement for the successes of a claim, and one for all other ends."""

from collections.abc import Sequence

from pydantic_core import to_json

from fairlead.core.jobs.model import Lease, Settlement
from fairlead.core.jobs.settle import is_followed
from fairlead.ports.database import Run, RunEach, Script
from fairlead.records.following import follow_script
from fairlead.stores.postgres.arrays import Texts, plain_array
from fairlead.stores.settling import resumption_rows, settlement_row, split_succeeded

NOBODY = "00000000-0000-0000-0000-000000000000"


def settle_script(settlements: Sequence[Settlement]) -> Script[set[str]]:
    """Apply settlements whose hold still holds; returns their ids."""
    by_claim, others = split_succeeded(settlements)
    settled: set[str] = set()
    for lease, items in by_claim.items():
        settled |= yield from succeed_script(lease, items)
    if others:
        settled |= yield from end_script(others)
    return settled


def succeed_script(lease: Lease, items: Sequence[Settlement]) -> Script[set[str]]:
    """End jobs of one claim that succeeded."""
    given = {
        "ids": plain_array([item.id for item in items]),
        "fences": plain_array([str(item.hold.fence) for item in items]),
        "results": Texts([item.result for item in items]),
        "owner": lease.owner,
        "lease": lease.token,
    }
    return {row[0] for row in (yield Run("settle_succeeded", given))}


def end_script(settlements: Sequence[Settlement], expired_only: bool = False) -> Script[set[str]]:
    """End runs and waits in any other way, and store what follows from them."""
    batch = to_json([settlement_row(item) for item in settlements]).decode()
    found = yield Run("settle", {"rows": batch, "nobody": NOBODY, "expired_only": expired_only})
    settled = {row[0] for row in found}
    followed = settled & {item.id for item in settlements if is_followed(item)}
    if followed:
        yield from follow_script(followed)
    if resumed := resumption_rows(item for item in settlements if item.id in settled):
        yield RunEach("count_resumptions", resumed)
    return settled
