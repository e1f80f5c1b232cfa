"""The states of a job and the allowed moves between them."""

from enum import StrEnum

from fairlead.errors import IllegalMove


class State(StrEnum):
    """The state of a job."""

    CREATED = "created"
    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    READY = "ready"
    ENQUEUED = "enqueued"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    __hash__ = str.__hash__  # faster than Enum.__hash__; states are hashed for every job


MEANINGS: dict[State, str] = {
    State.CREATED: "is being submitted",
    State.SCHEDULED: "waits for its time",
    State.BLOCKED: "waits for the jobs that it depends on",
    State.READY: "waits for a worker",
    State.ENQUEUED: "waits for a worker, and its id is on a message broker",
    State.RUNNING: "runs on one worker, under a lease",
    State.RETRYING: "failed, and waits for its next attempt",
    State.SUCCEEDED: "ran to its end; its result is stored",
    State.DEAD: "failed for good: a dead letter, which only an operator moves",
    State.CANCELLED: "was cancelled before or while it ran",
    State.EXPIRED: "did not start before its `not_after`",
}
# No job reaches these states yet: they belong to job flows and message brokers.
PLANNED = frozenset({State.CREATED, State.BLOCKED, State.ENQUEUED})

# Module constants for hot code: reading a member of an enumeration is slow.
SCHEDULED, READY, RUNNING, SUCCEEDED = State.SCHEDULED, State.READY, State.RUNNING, State.SUCCEEDED

MOVES: dict[State, frozenset[State]] = {
    State.CREATED: frozenset({State.SCHEDULED, State.BLOCKED, State.READY}),
    State.SCHEDULED: frozenset({State.READY, State.DEAD, State.CANCELLED, State.EXPIRED}),
    State.BLOCKED: frozenset({State.READY, State.SCHEDULED, State.DEAD, State.CANCELLED, State.EXPIRED}),
    State.READY: frozenset(
        {State.ENQUEUED, State.RUNNING, State.SCHEDULED, State.DEAD, State.CANCELLED, State.EXPIRED}
    ),
    State.ENQUEUED: frozenset({State.RUNNING, State.READY, State.DEAD, State.CANCELLED, State.EXPIRED}),
    State.RUNNING: frozenset(
        {
            State.SUCCEEDED,
            State.RETRYING,
            State.READY,
            State.SCHEDULED,
            State.DEAD,
            State.CANCELLED,
            State.EXPIRED,
        }
    ),
    State.RETRYING: frozenset({State.READY, State.DEAD, State.CANCELLED, State.EXPIRED}),
    State.DEAD: frozenset({State.READY, State.CANCELLED}),
    State.SUCCEEDED: frozenset(),
    State.CANCELLED: frozenset(),
    State.EXPIRED: frozenset(),
}

PENDING = frozenset({State.SCHEDULED, State.BLOCKED, State.READY, State.ENQUEUED, State.RETRYING})
LIVE = PENDING | {State.RUNNING}
FINAL = frozenset({State.SUCCEEDED, State.DEAD, State.CANCELLED, State.EXPIRED})


def require(source: State, target: State) -> None:
    """Raise IllegalMove unless a job may go from `source` to `target`."""
    if target not in MOVES[source]:
        allowed = ", ".join(sorted(MOVES[source])) or "nothing: it is final"
        raise IllegalMove(f"a job cannot go from {source} to {target}; from {source} it may go to {allowed}")
