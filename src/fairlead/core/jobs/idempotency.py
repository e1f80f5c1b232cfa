"""Idempotency keys: checking them, and finding duplicates within one submission."""

from collections.abc import Sequence

from fairlead.core.durations import Duration, seconds
from fairlead.core.jobs.model import Enqueued, NewJob, Scope, Unique
from fairlead.errors import ConfigError

MAX_KEY_LENGTH = 255


def unique(key: str, scope: Scope | str = Scope.ACTIVE, window: Duration | None = None) -> Unique:
    """Return a valid idempotency key; ConfigError if key, scope and window do not fit together."""
    check_key(key)
    try:
        scope = Scope(scope)
    except ValueError:
        raise ConfigError(f"{scope!r} is not a scope; it must be active, window or forever") from None
    if (scope is Scope.WINDOW) != (window is not None):
        raise ConfigError("idempotency_window goes with the scope window, and that scope needs it")
    return Unique(key, scope, None if window is None else seconds(window))


def check_key(key: str) -> str:
    """Return the key, or part of a key, if it is valid; else ConfigError."""
    if not isinstance(key, str):
        raise ConfigError(
            f"idempotency_key={key!r:.100} is not text; write it like idempotency_key=f'order-{{order_id}}'"
        )
    if not 1 <= len(key) <= MAX_KEY_LENGTH or "\x00" in key or any("\ud800" <= letter <= "\udfff" for letter in key):
        raise ConfigError(f"an idempotency key has 1 to {MAX_KEY_LENGTH} characters, no NUL and no half surrogate pair")
    return key


def name_of(job: NewJob) -> tuple[str, str, str]:
    """Return what identifies a key: tenant, type and key; for a job without a key, its own id instead."""
    return job.lane.tenant, job.lane.type, job.unique.key if job.unique else job.id


def split_repeats(jobs: Sequence[NewJob]) -> tuple[list[NewJob], dict[str, str]]:
    """Return the jobs without repeated keys, and for each repeat (by id) the id of the first job with its key."""
    first: dict[tuple[str, str, str], str] = {}
    kept: list[NewJob] = []
    stands_for: dict[str, str] = {}
    for job in jobs:
        if job.unique is None:
            kept.append(job)
            continue
        first_id = first.setdefault(name_of(job), job.id)
        if first_id == job.id:
            kept.append(job)
        else:
            stands_for[job.id] = first_id
    return kept, stands_for


def answers(jobs: Sequence[NewJob], stands_for: dict[str, str], existing: dict[str, str]) -> list[Enqueued]:
    """Return the result of each submission in order; `existing` maps an id to the stored job that holds its key."""
    replies = []
    for job in jobs:
        kept = stands_for.get(job.id, job.id)
        stored = existing.get(kept, kept)
        replies.append(Enqueued(stored, stored != job.id))
    return replies
