"""The states of a job and the allowed moves between them."""

from enum import StrEnum

from fairlead.errors import IllegalMove


class State(StrEnum):
    """The state of a job."""

    CREATED = "created"  # being submitted; no stored job rests here
    SCHEDULED = "scheduled"  # waits for its run_at
    BLOCKED = "blocked"  # waits for its parents
    READY = "ready"  # may be claimed
    ENQUEUED = "enqueued"  # ready, and its id is on a broker
    RUNNING = "running"  # owned by one worker under a lease
    RETRYING = "retrying"  # failed, waits for its next attempt
    SUCCEEDED = "succeeded"
    DEAD = "dead"  # a dead letter: only an operator can move it
    CANCELLED = "cancelled"
    EXPIRED = "expired"  # did not start before its not_after

    __hash__ = str.__hash__  # faster than Enum.__hash__; states are hashed for every job


# For code that runs for every job: reading an enum member is slow.
SCHEDULED, READY, RUNNING, SUCCEEDED = State.SCHEDULED, State.READY, State.RUNNING, State.SUCCEEDED

MOVES: dict[State, frozenset[State]] = {
    State.CREATED: frozenset({State.SCHEDULED, State.BLOCKED, State.READY}),
    State.SCHEDULED: frozenset({State.READY, State.CANCELLED, State.EXPIRED}),
    State.BLOCKED: frozenset({State.READY, State.SCHEDULED, State.DEAD, State.CANCELLED, State.EXPIRED}),
    State.READY: frozenset({State.ENQUEUED, State.RUNNING, State.SCHEDULED, State.CANCELLED, State.EXPIRED}),
    State.ENQUEUED: frozenset({State.RUNNING, State.READY, State.CANCELLED, State.EXPIRED}),
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
