"""What a handler is told about the job it runs, and what it can ask of the worker that runs it."""

import asyncio
import json
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Protocol

from fairlead.core.durations import Duration, instant
from fairlead.core.jobs.checkpoints import LastCheckpoint, NewCheckpoint
from fairlead.core.jobs.model import Claim, Outcome, Priority
from fairlead.core.jobs.progress import ProgressReport
from fairlead.core.jobs.progress import report as checked_report
from fairlead.errors import ConfigError, JobCancelled, LeaseLost
from fairlead.handlers.blocking import Blocking
from fairlead.handlers.checkpoints import SAME, CheckpointWriter, Key, RunCheckpoints, Upgrade
from fairlead.handlers.effects import Effects, Memory
from fairlead.ports.jobs import BlockingTransaction, OpenTransaction


class Run(Protocol):
    """The run that a context belongs to; its claim changes when somebody asks to cancel it."""

    claim: Claim

    @property
    def version(self) -> int:
        """The version of the handler's code."""


class Tools(Memory, CheckpointWriter, Protocol):
    """What a worker does for the handlers that it runs."""

    loop: asyncio.AbstractEventLoop

    async def begin(self) -> OpenTransaction:
        """Open a transaction that ends with the job."""

    def begin_blocking(self) -> BlockingTransaction:
        """Open one for a handler in a thread, and from that thread."""

    async def commit_checkpoint(self, new: NewCheckpoint, opened: OpenTransaction) -> LastCheckpoint | None:
        """Save a checkpoint in a handler's transaction and commit both; None where the run is over."""

    def report(self, claim: Claim, told: ProgressReport) -> None:
        """Take over what a run says of its progress, from any thread and without waiting."""


class Context:
    """The first argument of a handler that asks for it.

    A job may run more than once (a crash can hit between an effect and its record), so use `job_id` as the idempotency
    key towards other systems, and `fence`, which only ever rises, where they can refuse an older writer.
    """

    __slots__ = (
        "_checkpoints", "_effects", "_in_block", "_over", "_run", "_to_commit", "_tools", "claim", "open_transaction",
    )  # fmt: skip

    def __init__(self, claim: Claim, run: Run | None = None, tools: Tools | None = None) -> None:
        self.claim = claim
        self.open_transaction: OpenTransaction | None = None
        self._run = run
        self._tools = tools
        self._effects: Effects | None = None
        self._checkpoints: RunCheckpoints | None = None
        self._in_block = False  # of ctx.transaction()
        self._to_commit: NewCheckpoint | None = None  # with the transaction, at the end of its block
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
        """The same verbs for a handler that runs in a thread, without await."""
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

    @property
    def checkpoints(self) -> RunCheckpoints:
        """The checkpoints of this run."""
        if self._over:
            raise LeaseLost(f"this run of job {self.job_id} is over; nothing is kept of what it does now")
        if self._checkpoints is None:
            version = self.claim.lane.version if self._run is None else self._run.version
            self._checkpoints = RunCheckpoints(self.claim, version, self.tools)
            if self.open_transaction is not None:
                self._checkpoints.begin_transaction()
        return self._checkpoints

    async def checkpoint(self, state: Any = SAME, *, version: int | None = None, now: bool = False) -> None:
        """Save how far the handler has come, for the run that resumes the job: `await ctx.checkpoint(state)`.

        The state is a pydantic model, a dataclass, plain JSON data or bytes, and `version` is that of its shape (the
        type's version if not given). Call it as often as you like: at most once a second the newest state is
        written, and at once when the run is interrupted, or with `now=True`. A crash loses what was said in the last
        second. Without a state, the row in hand of `ctx.resume` counts as done. Inside the block of
        `ctx.transaction()` it is saved with the block's rows, and the block commits both.
        """
        checkpoints = self.checkpoints
        await checkpoints.read()
        new = checkpoints.change(state, version)
        if self._in_block:
            self._to_commit = new
        elif self.open_transaction is not None:
            raise ConfigError(
                "this run's transaction is open until the handler returns, so a checkpoint would say that rows are "
                "written which are not committed yet; call ctx.checkpoint inside the block of ctx.transaction"
            )
        elif now:
            await checkpoints.save(new)
        else:
            checkpoints.note(new)

    async def load_checkpoint(
        self, type_: Any = None, *, version: int | None = None, upgrade: Upgrade | None = None
    ) -> Any:
        """The state of the newest checkpoint, or None: `state = await ctx.load_checkpoint(State) or State()`.

        It is validated as `type_`, if one is given. A state of another version goes through `upgrade(state, version)`.
        """
        await self.checkpoints.read()
        return self.checkpoints.state(type_, version, upgrade)

    async def step(self, name: str) -> bool:
        """Whether a step is still to be done: `if await ctx.step("convert"): ...`.

        A step is done when the next one is asked for, which saves a checkpoint. A run that resumes the job passes over
        the steps that are done and goes on with the one that was interrupted.
        """
        return await self.checkpoints.step(name)

    def resume(
        self,
        rows: AsyncIterable[Any] | Iterable[Any],
        *,
        key: Key | None = None,
        every: Duration = 1.0,
        name: str | None = None,
    ) -> AsyncIterator[Any]:
        """The rows that are not done yet: `async for row in ctx.resume(rows, key=lambda row: row.id)`.

        A row is done when the next one is asked for. The key is a number, text or a tuple of these, and must rise from
        row to row; without one, as many rows are skipped as were done. `every` is how often the place is saved.
        """
        return self.checkpoints.resume(rows, key, every, name)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        """A psycopg connection whose transaction is committed together with this job's success, or not at all.

        It stays open until the handler has returned; then the worker settles the job in it and commits. If the handler
        fails, is stopped, or has lost its job to another run, everything is rolled back. PostgreSQL only.

        With `ctx.checkpoint` in its block it is committed at the end of the block, together with the checkpoint, and
        the next one can begin.
        """
        opened = await self.join(await self.tools.begin())
        try:
            yield opened.connection
            await self.end_block(opened)
        except BaseException:
            self.forget_block()
            await opened.abandon()
            raise

    async def join(self, opened: OpenTransaction) -> OpenTransaction:
        """Make this the transaction that the job ends in; a run has one, and none when it is over."""
        if self._over or self.open_transaction is not None:
            await opened.abandon()
            if self._over:
                raise LeaseLost(f"this run of job {self.job_id} is over; nothing is kept of what it does now")
            raise ConfigError("this run has its transaction already; it stays open until the handler returns")
        self.open_transaction, self._in_block = opened, True
        if self._checkpoints is not None:
            self._checkpoints.begin_transaction()
        return opened

    async def end_block(self, opened: OpenTransaction) -> bool:
        """Commit the transaction if its block made a checkpoint, else keep it open; returns whether it is committed."""
        new, self._to_commit, self._in_block = self._to_commit, None, False
        if new is None:
            await self.require_hold(opened)
            return False
        self.checkpoints.saved(new, await self.tools.commit_checkpoint(new, opened))
        self.checkpoints.require_run()
        self.checkpoints.end_transaction(committed=True)
        self.open_transaction = None
        return True

    def forget_block(self) -> None:
        """The transaction is rolled back, and so are the checkpoints made in its block."""
        self.open_transaction, self._to_commit, self._in_block = None, None, False
        if self._checkpoints is not None:
            self._checkpoints.end_transaction(committed=False)

    async def interrupted(self, outcome: Outcome) -> Outcome:
        """Save the rest of an unsuccessful run's checkpoints; an outcome that interrupts the job names the newest."""
        if self._checkpoints is None:
            return outcome
        await self._checkpoints.save_rest()
        return outcome._replace(checkpoint=self._checkpoints.last)

    async def require_hold(self, opened: OpenTransaction) -> None:
        """LeaseLost where the job is another run's by now."""
        if not await opened.holds(self.job_id, self.claim.hold):
            raise LeaseLost(f"job {self.job_id} is not this run's any more; nothing of its transaction is kept")

    def end(self) -> bool:
        """The run is over; whether a transaction is left that has to be rolled back, unless it was committed."""
        self._over = True
        if self._checkpoints is not None:
            self._checkpoints.end()
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
