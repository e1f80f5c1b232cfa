"""The checkpoints of one run: the handler's state, the positions of its loops and the steps it has begun.

All three are one document, which is saved as a whole. A resumed run reads it once, before it first uses it. While a
transaction of the run is open, nothing is saved beside it, since its rows may still be rolled back.
"""

import asyncio
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from pydantic_core import PydanticSerializationError, from_json, to_json

from fairlead.core.durations import Duration, seconds
from fairlead.core.jobs.checkpoints import LastCheckpoint, NewCheckpoint, StoredCheckpoint
from fairlead.core.jobs.model import Claim
from fairlead.core.jobs.payload import check_payload
from fairlead.core.names import check_name
from fairlead.errors import ConfigError, FairleadError, LeaseLost, UnsafePayload

SAME: Any = object()  # the state stays as it is
PATIENCE = 2.0  # seconds for the last checkpoint of an interrupted run
BATCH = 1_000  # rows of a plain iterable that are passed over before the event loop has its turn

Key = Callable[[Any], Any]
Upgrade = Callable[[Any, int], Any]
Told = Callable[[LastCheckpoint | None], None]


class CheckpointWriter(Protocol):
    """Where checkpoints are kept."""

    checkpoint_limit: int

    async def recall_checkpoint(self, claim: Claim) -> StoredCheckpoint | None:
        """Return the job's newest checkpoint."""

    async def save_checkpoint(self, new: NewCheckpoint) -> LastCheckpoint | None:
        """Save a checkpoint now; None where the run is over."""

    def note_checkpoint(self, new: NewCheckpoint, told: Told) -> None:
        """Save a checkpoint within a second unless a newer one replaces it; `told` hears what became of it."""

    def drop_checkpoint(self, claim: Claim) -> None:
        """Forget what is not saved yet: the run has succeeded."""


class RunCheckpoints:
    """Reads the checkpoint that the run resumes from, and saves those that it makes."""

    def __init__(self, claim: Claim, version: int, writer: CheckpointWriter) -> None:
        self._claim = claim
        self._version = version  # of the state, as saved
        self._code_version = version
        self._writer = writer
        self._lock = asyncio.Lock()
        self._is_loaded = claim.fence == 1
        self._is_over = False
        self._state: dict[str, Any] = {}
        self._loops: dict[str, dict[str, Any]] = {}
        self._used: set[str] = set()  # names of loops in this run
        self._begun: list[str] = []  # steps, as saved; the last is not done
        self._asked: list[str] = []  # steps in this run
        self._loop: Loop | None = None  # the one that gave out a row last
        self._before: str | None = None  # the document before the transaction that is open
        self._name = "checkpoint"
        self._saved = self._document()
        self.last: LastCheckpoint | None = None  # the newest one that this run has read or saved

    async def read(self) -> None:
        """Read the checkpoint to resume from, once."""
        async with self._lock:
            self.require_run()
            if self._is_loaded:
                return
            found = await self._writer.recall_checkpoint(self._claim)
            if found is not None:
                self.last, self._version = found.last, found.version
                document = from_json(found.state)
                self._state, self._loops, self._begun = document["state"], document["loops"], document["steps"]
                self._saved = self._document()
            self._is_loaded = True

    def state(self, type_: Any, version: int | None, upgrade: Upgrade | None) -> Any:
        """Return the saved state as this type, or None."""
        if not self._state:
            return None
        value = b64decode(self._state["bytes"]) if "bytes" in self._state else self._state["json"]
        wanted = version or self._code_version
        if self._version != wanted:
            if upgrade is None:
                raise ConfigError(
                    f"the checkpoint of job {self._claim.id} has version {self._version}, and this code reads version "
                    f"{wanted}; give load_checkpoint an upgrade=function(state, version)"
                )
            value = upgrade(value, self._version)
        return value if type_ is None else _validated(type_, value)

    def change(self, state: Any, version: int | None) -> NewCheckpoint:
        """Take a new state over, or the row in hand as done; returns the checkpoint to save."""
        self._name = "checkpoint"
        if state is SAME:
            if self._loop is not None:
                self._loop.advance()
            return self.record()
        self._state = {"bytes": b64encode(state).decode()} if isinstance(state, bytes) else {"json": _plain(state)}
        self._version = version or self._code_version
        return self.record()

    def note(self, new: NewCheckpoint) -> None:
        """Have a checkpoint saved within a second."""
        self.require_run()
        if self._before is None:
            self._writer.note_checkpoint(new, lambda last: self.saved(new, last))

    async def save(self, new: NewCheckpoint) -> None:
        """Save a checkpoint now; LeaseLost where the run is over."""
        self.require_run()
        if self._before is None:
            self.saved(new, await self._writer.save_checkpoint(new))
            self.require_run()

    def saved(self, new: NewCheckpoint, last: LastCheckpoint | None) -> None:
        """Note what became of a checkpoint."""
        if last is None:
            self._is_over = True
        else:
            self.last, self._saved = last, new.state

    async def save_rest(self) -> None:
        """Save what is newer than the last checkpoint, since the run is interrupted."""
        if self._is_loaded and not self._is_over and self._document() != self._saved:
            with suppress(TimeoutError, FairleadError):  # what was saved before stands
                async with asyncio.timeout(PATIENCE):
                    await self.save(self.record())

    def begin_transaction(self) -> None:
        """Save nothing until the transaction has ended."""
        self._before = self._document()

    def end_transaction(self, committed: bool) -> None:
        """Go on saving; what was done in a transaction that was rolled back is not done."""
        if self._before is not None and not committed:
            document = from_json(self._before)
            self._state, self._begun[:] = document["state"], document["steps"]
            for name, place in self._loops.items():
                place.clear()
                place.update(document["loops"].get(name, {}))
        self._before = None

    def end(self) -> None:
        """Refuse everything from now on: the run is over."""
        self._is_over = True
        self._writer.drop_checkpoint(self._claim)

    def require_run(self) -> None:
        """LeaseLost where the run is over."""
        if self._is_over:
            raise LeaseLost(f"this run of job {self._claim.id} is over; no checkpoint of it is kept any more")

    def record(self) -> NewCheckpoint:
        """Return the checkpoint of what the run has done until now."""
        claim, text = self._claim, self._document()
        check_payload(text.encode(), self._writer.checkpoint_limit, "checkpoint")
        owner, token = claim.lease
        return NewCheckpoint(claim.id, claim.fence, owner, token, self._version, self._name, text)

    def _document(self) -> str:
        return to_json({"state": self._state, "loops": self._loops, "steps": self._begun}).decode()

    # Steps

    async def step(self, name: str) -> bool:
        """Return whether a step is to be done, and save that the one before it is."""
        await self.read()
        check_name("step", name)
        if name in self._asked:
            raise ConfigError(f"the step {name!r} begins twice in one run; give each step a name of its own")
        self._asked.append(name)
        at = len(self._asked) - 1
        if at < len(self._begun):
            self._require_order(at)
            return at == len(self._begun) - 1
        self._begun.append(name)
        self._name = f"step {name}"
        if at:
            await self.save(self.record())
        else:
            self.note(self.record())
        return True

    def _require_order(self, at: int) -> None:
        if self._begun[at] != self._asked[at]:
            raise ConfigError(
                f"the steps of job {self._claim.id} were {', '.join(self._begun)} when it was interrupted, and are "
                f"{', '.join(self._asked)} now; keep the order of steps while jobs are under way, or give the changed "
                "handler a new type"
            )

    # Loops

    async def resume(
        self, rows: AsyncIterable[Any] | Iterable[Any], key: Key | None, every: Duration, name: str | None
    ) -> AsyncIterator[Any]:
        """Yield the rows that are not done yet; a row is done when the next one is asked for."""
        await self.read()
        loop = self.loop(name, key, every)
        if loop.is_done:
            return
        async for row in _each(rows):
            if loop.begin(row):
                self._loop = loop
                yield row
                self.advance(loop)
        self.finish(loop)

    def resume_blocking(self, rows: Iterable[Any], loop: "Loop") -> Iterator[Any]:
        """Do the same in a thread."""
        if loop.is_done:
            return
        for row in rows:
            if loop.begin(row):
                self._loop = loop
                yield row
                self.advance(loop)
        self.finish(loop)

    def loop(self, name: str | None, key: Key | None, every: Duration) -> "Loop":
        """Return the loop of this name, which is the step's name unless given."""
        name = name or (self._asked[-1] if self._asked else "rows")
        check_name("loop", name)
        if name in self._used:
            raise ConfigError(f"two loops of this run are named {name!r}; give each ctx.resume a name=... of its own")
        self._used.add(name)
        return Loop(name, key, seconds(every), self._loops.setdefault(name, {}))

    def advance(self, loop: "Loop") -> None:
        """Note that a row is done; saved now and then."""
        self.require_run()
        self._name = loop.name
        loop.advance()
        self._loop = None
        if loop.is_due():
            self.note(self.record())

    def finish(self, loop: "Loop") -> None:
        """Note that all rows are done."""
        loop.finish()
        self.note(self.record())


class Loop:
    """The place of a loop in its rows: how many are done, or the key of the last one."""

    def __init__(self, name: str, key: Key | None, every: float, place: dict[str, Any]) -> None:
        self.name = name
        self._key = key
        self._every = every
        self._place = place
        self._skip = int(place.get("position", 0))
        self._until = place.get("key")
        self._position = 0
        self._current: Any = None
        self._due = time.monotonic() + every
        if not self.is_done and place and (key is None) != (self._until is None):
            raise ConfigError(f"the loop {name!r} was begun {'without' if key else 'with'} a key; keep it as it was")

    @property
    def is_done(self) -> bool:
        """Whether an earlier run has come to the end of the rows."""
        return bool(self._place.get("done"))

    def begin(self, row: Any) -> bool:
        """Return whether a row is to be done."""
        self._position += 1
        if self._key is None:
            return self._position > self._skip
        key = _comparable(self._key(row), self.name)
        try:
            if self._current is not None and key <= self._current:
                raise ConfigError(
                    f"the keys of the loop {self.name!r} must rise from row to row, and {key!r:.100} comes after "
                    f"{self._current!r:.100}; sort the rows by their key, or leave it out to resume by position"
                )
            self._current = key
            return self._until is None or bool(key > self._until)
        except TypeError as error:
            raise ConfigError(f"the keys of the loop {self.name!r} cannot be compared: {error}") from error

    def advance(self) -> None:
        """The row is done."""
        if self._key is None:
            self._place["position"] = self._position
        else:
            self._place["key"] = self._current

    def is_due(self) -> bool:
        """Whether the place is to be saved, which is so every so many seconds."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + self._every
        return True

    def finish(self) -> None:
        """All rows are done."""
        self._place.clear()
        self._place["done"] = True


async def _each(rows: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    if isinstance(rows, AsyncIterable):
        async for row in rows:
            yield row
        return
    for number, row in enumerate(rows, 1):
        yield row
        if number % BATCH == 0:
            await asyncio.sleep(0)


def _comparable(key: Any, name: str) -> Any:
    """Return the key as it comes back from JSON."""
    if isinstance(key, tuple | list):
        return [_comparable(part, name) for part in key]
    if isinstance(key, int | float | str):
        return key
    raise ConfigError(f"a key of the loop {name!r} is {key!r:.100}; it must be a number, text, or a tuple of these")


def _plain(state: Any) -> Any:
    """Return the state as plain JSON values; UnsafePayload if it has none."""
    try:
        return from_json(to_json(state, inf_nan_mode="constants"))
    except (PydanticSerializationError, UnicodeEncodeError, ValueError) as error:
        raise UnsafePayload(
            f"this checkpoint cannot become JSON ({error}); use a pydantic model, a dataclass, plain data or bytes"
        ) from None


def _validated(type_: Any, value: Any) -> Any:
    from pydantic import TypeAdapter

    return value if type_ is bytes else TypeAdapter(type_).validate_json(to_json(value))
