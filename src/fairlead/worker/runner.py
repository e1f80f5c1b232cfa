"""One run of one job: from a claim to an outcome. Whatever a handler does, an outcome comes back."""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any

from fairlead.core.jobs.expiry import expiry_error
from fairlead.core.jobs.model import Claim, Ending, Outcome
from fairlead.handlers.context import Context, Run
from fairlead.handlers.spec import HandlerSpec
from fairlead.telemetry.events import Telemetry
from fairlead.worker.containing import FROM_OUTSIDE, contained
from fairlead.worker.failures import outcome_of
from fairlead.worker.lead import Waiting, lead
from fairlead.worker.lost import LostRuns
from fairlead.worker.results import dump_result
from fairlead.worker.tools import RunTools

WELL = Outcome(Ending.SUCCEEDED)


class Runner:
    """Runs handlers: coroutines on the loop, functions in threads."""

    def __init__(
        self, threads: Executor, result_limit: int, lost: LostRuns | None = None, tools: RunTools | None = None
    ) -> None:
        self._threads = threads
        self._tools = tools
        self._lost = LostRuns(Telemetry()) if lost is None else lost
        self._result_limit = result_limit

    def begin(self, claim: Claim, spec: HandlerSpec, run: Run | None = None) -> Outcome | Waiting[Outcome]:
        """Run the handler up to where it waits for the first time; cancellation passes through."""
        return lead(self.run(claim, spec, run))

    async def run(self, claim: Claim, spec: HandlerSpec, run: Run | None = None) -> Outcome:
        """Run the handler; every end but cancellation is an outcome."""
        if claim.time_left is not None and claim.time_left < 0:
            return Outcome(Ending.EXPIRED, error=expiry_error(-claim.time_left))
        context = Context(claim, run, self._tools) if spec.arguments.takes_context else None
        try:
            arguments = spec.load(claim.payload, claim.lane.version)
            given = () if context is None else (context,)
            if spec.is_async:
                result = await spec.function(*given, **arguments)
            else:
                result = await self._in_thread(claim, partial(spec.function, *given, **arguments))
            outcome = self.succeeded(result)
            if context is not None and context.open_transaction is not None and self._tools is not None:
                return await self._tools.commit(claim, outcome, context.open_transaction)
            return outcome
        except FROM_OUTSIDE:
            raise
        except BaseException as error:
            return outcome_of(error, spec)
        finally:
            if context is not None and context.end():
                await context.roll_back()

    def succeeded(self, result: Any) -> Outcome:
        """What a run that returned this has ended in; an error if it cannot be kept."""
        return WELL if result is None else Outcome(Ending.SUCCEEDED, dump_result(result, self._result_limit))

    async def _in_thread(self, claim: Claim, call: Callable[[], Any]) -> Any:
        in_thread = self._threads.submit(contextvars.copy_context().run, contained, call)
        try:
            return await asyncio.wrap_future(in_thread, loop=asyncio.get_running_loop())
        except asyncio.CancelledError:
            if not in_thread.cancel() and not in_thread.done():
                self._lost.add(claim, in_thread.done)
            raise
