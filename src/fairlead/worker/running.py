"""A job in a slot of a worker, and how it is stopped."""

import asyncio
import time

from fairlead.core.jobs.failure import FailureClass, Policies
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, ErrorInfo, Outcome
from fairlead.handlers.options import overridden
from fairlead.handlers.spec import HandlerSpec
from fairlead.worker.terms import Terms

STOP_PATIENCE = 5.0
ITS_OWN_DOING = Outcome(Ending.FAILED, error=ErrorInfo("CancelledError", "the handler cancelled itself"))


class Running:
    """A run of a job. Until it waits for something, nobody can stop it, and so its terms do not matter."""

    __slots__ = ("claim", "deadline", "patience", "spec", "started", "stopped_at", "stopped_by", "task")

    def __init__(self, claim: Claim, spec: HandlerSpec, started: float, task: asyncio.Task[None] | None = None) -> None:
        self.claim = claim
        self.spec = spec
        self.task = task
        self.started = started
        self.stopped_by: Ending | None = None

    def agree(self, terms: Terms) -> None:
        """From now on it can be stopped, at the latest when its time is up."""
        timeout, _ = self._terms(terms)
        self.deadline = None if timeout is None else self.started + timeout
        self.patience = STOP_PATIENCE

    def policies(self, terms: Terms) -> Policies:
        """What follows from its failure."""
        return self._terms(terms)[1]

    def stop(self, reason: Ending) -> None:
        """Cancel the handler; the reason decides what follows."""
        if self.stopped_by is None and self.task is not None:
            self.stopped_by = reason
            self.stopped_at = time.monotonic()
            self.task.cancel()

    def cancel(self, request: CancelRequest) -> None:
        """Tell the handler; a thread has until the end of the grace to look, and then is not waited for."""
        self.claim = self.claim._replace(cancel=request)
        if self.spec.is_async:
            self.patience = request.grace
            self.stop(Ending.CANCELLED)
        else:
            end = time.monotonic() + request.grace
            self.deadline = end if self.deadline is None else min(end, self.deadline)

    def does_not_stop(self, now: float) -> bool:
        """Whether it was told to stop and has had time to."""
        return self.stopped_by is not None and now > self.stopped_at + self.patience

    def outcome_of_stop(self) -> Outcome:
        """What a cancelled handler ended in; one that cancelled itself has failed."""
        if self.stopped_by is Ending.TIMED_OUT:
            ran = time.monotonic() - self.started
            reason = f"stopped after {ran:.1f} s by its timeout"
            return Outcome(Ending.TIMED_OUT, error=ErrorInfo("TimedOut", reason, failure=FailureClass.TIMEOUT))
        if self.stopped_by is not None:
            return Outcome(self.stopped_by)
        return ITS_OWN_DOING

    def _terms(self, terms: Terms) -> tuple[float | None, Policies]:
        found = terms.of(self.spec, self.claim.lane.pool)
        return found if self.claim.options is None else overridden(self.claim.options, *found)
