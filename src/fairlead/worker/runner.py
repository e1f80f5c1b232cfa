"""One run of one job, from a claim to an outcome. Whatever a handler does, an outcome comes back."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from fairlead.core.jobs.expiry import expiry_error
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.model import CancelRequest, Claim, Ending, ErrorInfo, Outcome
from fairlead.handlers.context import Context
from fairlead.handlers.spec import HandlerSpec
from fairlead.telemetry.events import current_claim
from fairlead.worker.failures import outcome_of
from fairlead.worker.threads import HandlerThreads, ThreadCall
from fairlead.worker.tools import RunTools, succeeded

STOP_PATIENCE = 5.0  # seconds that a cancelled handler has to end
CANCELLED_ITSELF = Outcome(Ending.FAILED, error=ErrorInfo("CancelledError", "the handler cancelled itself"))


class Run:
    """A claimed job while its handler runs."""

    __slots__ = (
        "call", "claim", "deadline", "has_ended", "patience", "spec", "started", "stopped_at", "stopped_by", "task",
    )  # fmt: skip

    def __init__(self, claim: Claim, spec: HandlerSpec, task: "asyncio.Task[Any] | None", started: float) -> None:
        self.claim = claim
        self.spec = spec
        self.task = task
        self.started = started
        self.deadline: float | None = None  # on the monotonic clock; None until somebody asked for it
        self.patience = STOP_PATIENCE
        self.stopped_by: Ending | None = None
        self.call: ThreadCall | None = None  # of a handler in a thread
        self.has_ended = False

    @property
    def version(self) -> int:
        """The version of the handler's code."""
        return self.spec.version

    def stop(self, reason: Ending) -> None:
        """Cancel the handler; the reason decides what becomes of the job."""
        if self.stopped_by is None and self.task is not None:
            self.stopped_by = reason
            self.stopped_at = time.monotonic()
            self.task.cancel()

    def cancel(self, request: CancelRequest) -> None:
        """Pass a request to cancel on to the handler; one in a thread may look at it until the grace is over."""
        self.claim = self.claim._replace(cancel=request)
        if self.spec.is_async:
            self.patience = request.grace
            self.stop(Ending.CANCELLED)
        else:
            end = time.monotonic() + request.grace
            self.deadline = end if self.deadline is None else min(end, self.deadline)

    def ignores_stop(self, now: float) -> bool:
        """Whether the handler was cancelled and has not ended within its patience."""
        return self.stopped_by is not None and now > self.stopped_at + self.patience

    def outcome_of_stop(self) -> Outcome:
        """The outcome of a cancelled handler; one that cancelled itself has failed."""
        if self.stopped_by is Ending.TIMED_OUT:
            reason = f"stopped after {time.monotonic() - self.started:.1f} s by its timeout"
            return Outcome(Ending.TIMED_OUT, error=ErrorInfo("TimedOut", reason, failure=FailureClass.TIMEOUT))
        return CANCELLED_ITSELF if self.stopped_by is None else Outcome(self.stopped_by)

    @property
    def is_over(self) -> bool:
        """Whether the handler has ended; one in a thread goes on after its run was cancelled."""
        return self.has_ended and (self.call is None or self.call.is_over)


class Runner:
    """Runs handlers: coroutines on the event loop, functions in threads."""

    def __init__(self, threads: HandlerThreads, result_limit: int, tools: RunTools | None = None) -> None:
        self._threads = threads
        self._result_limit = result_limit
        self._tools = tools

    async def run(self, run: Run) -> Outcome:
        """Call the handler; however it ends, return an outcome."""
        claim, spec = run.claim, run.spec
        if claim.time_left is not None and claim.time_left < 0:
            return Outcome(Ending.EXPIRED, error=expiry_error(-claim.time_left))
        current_claim.set(claim)
        context = Context(claim, run, self._tools) if spec.arguments.takes_context else None
        try:
            arguments = spec.load(claim.payload, claim.lane.version)
            given = () if context is None else (context,)
            if spec.is_async:
                result = await spec.function(*given, **arguments)
            else:
                result, error = await self._in_thread(run, partial(spec.function, *given, **arguments))
                if error is not None:
                    return await _interrupted(context, outcome_of(error, spec))
            outcome = succeeded(result, self._result_limit)
            if context is not None and context.open_transaction is not None and self._tools is not None:
                return await self._tools.commit(claim, outcome, context.open_transaction)
            return outcome
        except asyncio.CancelledError:
            return await _interrupted(context, run.outcome_of_stop())
        except BaseException as error:
            if isinstance(error, GeneratorExit) and _is_closed(run):
                raise
            return await _interrupted(context, outcome_of(error, spec))
        finally:
            if context is not None and context.end():
                await context.roll_back()

    async def _in_thread(self, run: Run, function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
        """What the function returned or raised: returned, since no coroutine can raise a StopIteration."""
        call = run.call = self._threads.submit(function)
        try:
            await call.done
        except asyncio.CancelledError:
            if call.withdraw():
                run.call = None
            raise
        error, call.error = call.error, None  # an error refers to its frames, and these to the call
        return call.value, error


async def _interrupted(context: Context | None, outcome: Outcome) -> Outcome:
    """Have the last checkpoint of an unsuccessful run saved; returns its outcome, which names that checkpoint."""
    return outcome if context is None else await context.interrupted(outcome)


def _is_closed(run: Run) -> bool:
    """Whether a GeneratorExit comes from the interpreter that closes the run's coroutine, not from its handler."""
    try:
        return asyncio.current_task() is not run.task
    except RuntimeError:
        return True
