"""What a handler is told about the job it runs, and what it can ask of the worker that runs it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Protocol

from fairlead.core.durations import instant
from fairlead.core.jobs.model import Claim, Priority
from fairlead.core.jobs.progress import ProgressReport
from fairlead.core.jobs.progress import report as checked_report
from fairlead.errors import ConfigError, JobCancelled, LeaseLost
from fairlead.handlers.blocking import Blocking
from fairlead.handlers.effects import Effects, Memory
from fairlead.ports.jobs import BlockingTransaction, OpenTransaction


class Run(Protocol):
    """The run that a context belongs to; its claim changes when somebody asks to cancel it."""

    claim: Claim


class Tools(Memory, Protocol):
    """What a worker does for the handlers that it runs."""

    loop: asyncio.AbstractEventLoop

    async def begin(self) -> OpenTransaction:
        """Open a transaction that ends with the job."""

    def begin_blocking(self) -> BlockingTransaction:
        """Open one for a handler in a thread, and from that thread."""

    def report(self, claim: Claim, told: ProgressReport) -> None:
        """Take over what a run says of its progress, from any thread and without waiting."""


class Context:
    """The first argument of a handler that asks for it.

    A job may run more than once (a crash can hit between an effect and its record), so use `job_id` as the idempotency
    key towards other systems, and `fence`, which only ever rises, where they can refuse an older writer.
    """

    __slots__ = ("_effects", "_over", "_run", "_tools", "claim", "open_transaction")

    def __init__(self, claim: Claim, run: Run | None = None, tools: Tools | None = None) -> None:
        self.claim = claim
        self.open_transaction: OpenTransaction | None = None
        self._run = run
        self._tools = tools
        self._effects: Effects | None = None
        self._over = False

    def __repr__(self) -> str:
        return f"<Context of {self.type} {self.job_id}, attempt {self.attempt}>"

    @property
    def job_id(self) -> str:
        """The job's id: the same in every attempt."""
        return self.claim.id

    @property
    def type(self) -> str:
        """The job's type."""
        return self.claim.lane.type

    @property
    def tenant(self) -> str:
        """Whose job it is."""
        return self.claim.lane.tenant

    @property
    def pool(self) -> str:
        """The pool it runs in."""
        return self.claim.lane.pool

    @property
    def priority(self) -> Priority:
        """Its priority within the tenant."""
        return self.claim.lane.priority

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1; lost workers and stops do not count."""
        return self.claim.attempt

    @property
    def first_attempt(self) -> bool:
        """Whether no worker has started this job before."""
        return self.claim.fence == 1

    @property
    def fence(self) -> int:
        """Rises with every claim of this job, whatever became of the earlier ones."""
        return self.claim.fence

    @property
    def idempotency_key(self) -> str:
        """The caller's key if there is one, else the job's id: stable over attempts."""
        return self.claim.key or self.claim.id

    @property
    def cancelled(self) -> bool:
        """Whether somebody has asked to cancel this job; a handler in a thread looks at it between its steps."""
        return self._run is not None and self._run.claim.cancel is not None

    def raise_if_cancelled(self) -> None:
        """End the run here if somebody has asked to cancel the job."""
        if self.cancelled:
            raise JobCancelled(f"job {self.job_id} was asked to end")

    @property
    def blocking(self) -> Blocking:
        """`once`, `transaction` and `progress` for a handler that runs in a thread."""
        return Blocking(self)

    @property
    def effects(self) -> Effects:
        """The side effects of this run."""
        if self._effects is None:
            self._effects = Effects(self.claim, self.tools)
        return self._effects

    @property
    def tools(self) -> Tools:
        """What the worker lends; ConfigError outside of one."""
        if self._tools is None:
            raise ConfigError(
                "this context belongs to no run of a worker, so it has no store; let a worker run the job"
            )
        return self._tools

    async def once(self, name: str, effect: Callable[[], Awaitable[Any] | Any]) -> Any:
        """The result of a side effect that this job has once: `await ctx.once("charge", lambda: charge(card))`.

        The first time, `effect` is called, and its result, which must be JSON, is remembered under the name. Every
        later attempt, and a replay by an operator, gets that result and calls nothing. What it cannot promise: a
        crash after the effect and before it is remembered makes the next attempt call it again. So hand
        `ctx.idempotency_key` to what the effect talks to. LeaseLost says that another run has taken the job over.
        """
        return await self.effects.once(name, effect)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far this run has come: `await ctx.progress(0.4)` or `await ctx.progress(40, 100, "40 pages read")`.

        Call it as often as you like: it waits for nothing, and about once a second the newest report is written, with
        those of all other runs of the worker. It is shown with the job until a later run begins, and is kept after
        its end. The message is cut after 200 characters. A crash loses what was said in the last second.
        """
        self.tell_progress(done, total, message)

    def tell_progress(self, done: float, total: float | None, message: str) -> None:
        """Hand a report to the worker; outside of one nobody hears it. LeaseLost where the run is over."""
        told = checked_report(done, total, message)
        if self._over:
            raise LeaseLost(f"this run of job {self.job_id} is over; nothing is kept of what it does now")
        if self._tools is not None:
            self._tools.report(self.claim, told)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A psycopg connection whose transaction is committed together with this job's success, or not at all.

        It stays open until the handler has returned; then the worker settles the job in it and commits. If the handler
        fails, is stopped, or has lost its job to another run, everything is rolled back. PostgreSQL only.
        """
        opened = await self.join(await self.tools.begin())
        try:
            yield opened.connection
            await self.require_hold(opened)
        except BaseException:
            self.open_transaction = None
            await opened.abandon()
            raise

    async def join(self, opened: OpenTransaction) -> OpenTransaction:
        """Make this the transaction that the job ends in; a run has one, and none when it is over."""
        if self._over or self.open_transaction is not None:
            await opened.abandon()
            if self._over:
                raise LeaseLost(f"this run of job {self.job_id} is over; nothing is kept of what it does now")
            raise ConfigError("this run has its transaction already; it stays open until the handler returns")
        self.open_transaction = opened
        return opened

    async def require_hold(self, opened: OpenTransaction) -> None:
        """LeaseLost where the job is another run's by now."""
        if not await opened.holds(self.job_id, self.claim.hold):
            raise LeaseLost(f"job {self.job_id} is not this run's any more; nothing of its transaction is kept")

    def end(self) -> bool:
        """The run is over; whether a transaction is left that has to be rolled back, unless it was committed."""
        self._over = True
        return self.open_transaction is not None

    async def roll_back(self) -> None:
        """Roll back what the run did not commit."""
        if self.open_transaction is not None:
            await self.open_transaction.abandon()

    @property
    def schedule(self) -> str | None:
        """The recurring schedule that made this job, or None."""
        name: str | None = json.loads(self.claim.options or "{}").get("schedule")
        return name

    @property
    def fire_time(self) -> datetime | None:
        """The time that its schedule made it for, however late it runs; None if no schedule did."""
        return instant(json.loads(self.claim.options or "{}").get("fire_at"))
