"""Settlements as stores write them: successes by claim, which is most of them and takes little, and all others."""

from collections.abc import Iterable, Sequence
from typing import Any

from fairlead.core.jobs.model import Lease, Settlement
from fairlead.core.jobs.states import FINAL, RUNNING, SUCCEEDED
from fairlead.ports.database import Rows
from fairlead.records.rows import job_of


def split_succeeded(settlements: Iterable[Settlement]) -> tuple[dict[Lease, list[Settlement]], list[Settlement]]:
    """Successes that nothing follows from, by their claim; and all others; repeats are left out."""
    by_claim: dict[tuple[str, str], dict[str, Settlement]] = {}
    others: dict[Any, Settlement] = {}
    for item in settlements:
        state, _, owner, lease, _ = item.hold
        is_plain = item.state is SUCCEEDED and item.error is None and not item.calls_back
        if is_plain and state is RUNNING and owner and lease:
            by_claim.setdefault((owner, lease), {}).setdefault(item.id, item)
        else:
            others.setdefault((item.id, item.hold), item)
    return {Lease(*claim): list(items.values()) for claim, items in by_claim.items()}, list(others.values())


def settlement_row(settlement: Settlement) -> dict[str, Any]:
    """What a store takes of any other end; enums as plain text, which becomes JSON ten times faster."""
    hold, error = settlement.hold, settlement.error
    return {
        "id": settlement.id,
        "held_state": hold.state.value,
        "held_fence": hold.fence,
        "held_owner": hold.owner,
        "held_lease": hold.lease,
        "held_cancelled": hold.cancelled,
        "state": settlement.state.value,
        "final": settlement.state in FINAL,
        "attempt": settlement.attempt,
        "crashes": settlement.crashes,
        "delay": settlement.delay,
        "result": settlement.result,
        "ending": settlement.ending.value,
        "error_type": error.type if error else None,
        "error_message": error.message if error else None,
        "fingerprint": error.fingerprint if error else None,
        "traceback": error.traceback if error else None,
        "failure": error.failure.value if error and error.failure else None,
        "recorded": settlement.recorded,
    }


def resumption_rows(settlements: Iterable[Settlement]) -> list[dict[str, Any]]:
    """The counts of resumptions to write beside the checkpoints; most settlements have none."""
    return [
        {"id": item.id, "number": item.checkpoint.number, "resumptions": item.checkpoint.resumptions,
         "stalled": item.checkpoint.stalled}
        for item in settlements
        if item.checkpoint is not None
    ]  # fmt: skip


def unanswered_successes(settlements: Sequence[Settlement], settled: set[str]) -> dict[str, Settlement]:
    """Successes without callbacks that were not settled now, by id: an answer about them may have been lost."""
    plain = (item for item in settlements if item.state is SUCCEEDED and not item.calls_back)
    return {item.id: item for item in plain if item.id not in settled}


def succeeded_before(found: Rows, asked: dict[str, Settlement]) -> set[str]:
    """The jobs, of what read_many found, that have succeeded under the very hold that was asked about."""
    records = map(job_of, found)
    return {
        job.id
        for job in records
        if job.state is SUCCEEDED and (job.fence, job.worker) == (asked[job.id].hold.fence, asked[job.id].hold.owner)
    }
