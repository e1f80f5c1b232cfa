"""Hints to other processes about what this worker has stored."""

import asyncio
from collections.abc import Sequence

from fairlead.core.jobs.model import Settlement
from fairlead.core.jobs.settle import is_followed
from fairlead.core.jobs.states import State
from fairlead.ports.jobs import EVERYONE, LIMITS_HINT, SCHEDULED_HINT
from fairlead.runtime.hints import HintSender
from fairlead.worker.limits import LimitGate

SOON = 60.0  # seconds; a job that waits longer is found without a hint
WAITING = (State.RETRYING, State.SCHEDULED)


class Hints:
    """Tells other processes of room under limits, of jobs that were given back, and of jobs that may follow."""

    def __init__(self, waker: HintSender, pools: tuple[str, ...], gate: LimitGate, news: asyncio.Event) -> None:
        self._waker = waker
        self._pools = pools
        self._gate = gate
        self._news = news
        self.is_stopping = False  # this worker claims no more

    def after(self, settlements: Sequence[Settlement]) -> None:
        """Hint at what follows from settlements that are stored."""
        here, elsewhere = self._gate.freed(settlements)
        if here:
            self._news.set()
        if elsewhere or (here and self.is_stopping):
            self._waker.wake([LIMITS_HINT])
        for settlement in settlements:
            if settlement.state is not State.SUCCEEDED or settlement.calls_back:
                self._after(settlement)

    def _after(self, settlement: Settlement) -> None:
        if settlement.state is State.READY:
            self._waker.wake(self._pools)
        elif settlement.state in WAITING and settlement.delay < SOON:
            self._waker.wake([SCHEDULED_HINT])
        elif is_followed(settlement):
            self._waker.wake([EVERYONE])
