"""What a worker does for the handlers that it runs: remembered effects, and transactions that end with the job."""

import asyncio
from random import Random
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from fairlead.core.jobs.checkpoints import LastCheckpoint, NewCheckpoint, StoredCheckpoint
from fairlead.core.jobs.failure import Policies
from fairlead.core.jobs.model import Claim, Ending, ErrorInfo, Outcome
from fairlead.core.jobs.payload import check_payload
from fairlead.core.jobs.progress import ProgressReport
from fairlead.core.jobs.settle import settle
from fairlead.errors import LeaseLost, PayloadError, ResultDropped
from fairlead.handlers.checkpoints import Told
from fairlead.ports.jobs import BlockingTransaction, OpenTransaction
from fairlead.records.store import Store
from fairlead.worker.checkpoints import CheckpointBook
from fairlead.worker.progress import ProgressBook

SUCCEEDED = Outcome(Ending.SUCCEEDED)
ANY = Policies()  # a success is one whatever the type's policies are


class RunTools:
    """The tools of one worker's runs."""

    def __init__(self, store: Store, result_limit: int, checkpoint_limit: int) -> None:
        self.loop = asyncio.get_running_loop()
        self.checkpoint_limit = checkpoint_limit
        self._store = store
        self._limit = result_limit
        self._random = Random()
        self.progress = ProgressBook(store)
        self.checkpoints = CheckpointBook(store)

    async def recall(self, claim: Claim, name: str) -> str | None:
        """What was remembered of a job's effect."""
        return await self._store.run_state.recall_effect(claim.id, name)

    async def remember(self, claim: Claim, name: str, value: Any) -> str:
        """Keep the result of an effect; returns what is kept."""
        text = dump_result(value, self._limit, f"result of {name!r}")
        kept = await self._store.run_state.remember_effect(claim.id, claim.hold, name, text)
        if kept is None:
            raise LeaseLost(f"{name!r} is not remembered: job {claim.id} is not this run's any more")
        return kept

    async def begin(self) -> OpenTransaction:
        """Open a transaction that ends with the job."""
        return await self._store.jobs.begin()

    def begin_blocking(self) -> BlockingTransaction:
        """Open one for a handler in a thread, and from that thread."""
        return self._store.jobs.begin_blocking()

    def report(self, claim: Claim, told: ProgressReport) -> None:
        """Take over what a run says of its progress, from any thread and without waiting."""
        self.progress.report(claim, told)

    async def recall_checkpoint(self, claim: Claim) -> StoredCheckpoint | None:
        """Return the job's newest checkpoint."""
        return await self._store.checkpoints.newest(claim.id)

    async def save_checkpoint(self, new: NewCheckpoint) -> LastCheckpoint | None:
        """Save a checkpoint now; None where the run is over."""
        return await self.checkpoints.save(new)

    async def commit_checkpoint(self, new: NewCheckpoint, opened: OpenTransaction) -> LastCheckpoint | None:
        """Save a checkpoint in a handler's transaction and commit both; None where the run is over."""
        return await self.checkpoints.save(new, opened)

    def note_checkpoint(self, new: NewCheckpoint, told: Told) -> None:
        """Save a checkpoint within a second unless a newer one replaces it; from any thread."""
        self.checkpoints.note(new, told)

    def drop_checkpoint(self, claim: Claim) -> None:
        """Forget what a run has not saved yet."""
        self.checkpoints.drop(claim)

    async def commit(self, claim: Claim, outcome: Outcome, opened: OpenTransaction) -> Outcome:
        """Settle a success in the handler's own transaction and commit both; LeaseLost if it is another run's job."""
        settlement = settle(claim, outcome, ANY, self._random)
        await self.progress.last_words([(claim.id, claim.fence)])
        if not await opened.settle(settlement):
            raise LeaseLost(f"job {claim.id} is not this run's any more; its transaction was rolled back")
        return Outcome(outcome.ending, outcome.result, stored=settlement)


def succeeded(result: Any, limit: int) -> Outcome:
    """A success with its result as JSON. The work is done; a result that cannot be kept is dropped."""
    if result is None:
        return SUCCEEDED
    try:
        return Outcome(Ending.SUCCEEDED, dump_result(result, limit))
    except PayloadError as error:
        return Outcome(Ending.SUCCEEDED, error=ErrorInfo(ResultDropped.__name__, str(error), failure=None))


def dump_result(result: Any, limit: int, what: str = "result") -> str:
    """The result of a handler or an effect as JSON text; UnusableResult if it is not plain data."""
    try:
        text = to_json(result, inf_nan_mode="constants")
    except (PydanticSerializationError, UnicodeEncodeError) as error:
        raise UnusableResult(f"the handler returned what cannot become JSON ({error}); return plain data") from None
    return check_payload(text, limit, what)


class UnusableResult(PayloadError):
    """A handler's result cannot be kept."""

    code = "UNUSABLE_RESULT"
