"""Idempotency within one submission: the first job with a key stands for all that carry the same."""

from collections.abc import Sequence

from fairlead.core.durations import Duration, seconds
from fairlead.core.jobs.model import Enqueued, NewJob, Scope, Unique
from fairlead.errors import ConfigError

MAX_KEY_LENGTH = 255


def unique(key: str, scope: Scope | str = Scope.ACTIVE, window: Duration | None = None) -> Unique:
    """A checked idempotency key."""
    check_key(key)
    try:
        scope = Scope(scope)
    except ValueError:
        raise ConfigError(f"{scope!r} is not a scope; it must be active, window or forever") from None
    if (scope is Scope.WINDOW) != (window is not None):
        raise ConfigError("idempotency_window goes with the scope window, and that scope needs it")
    return Unique(key, scope, None if window is None else seconds(window))


def check_key(key: str) -> str:
    """The key, or a part of one, itself; ConfigError where it cannot be."""
    if not isinstance(key, str):
        raise ConfigError(
            f"idempotency_key={key!r:.100} is not text; write it like idempotency_key=f'order-{{order_id}}'"
        )
    if not 1 <= len(key) <= MAX_KEY_LENGTH or "\x00" in key or any("\ud800" <= letter <= "\udfff" for letter in key):
        raise ConfigError(f"an idempotency key has 1 to {MAX_KEY_LENGTH} characters, no NUL and no half surrogate pair")
    return key


def name_of(job: NewJob) -> tuple[str, str, str]:
    """What a key belongs to: tenant, type and the key itself; a job without a key has a name of its own."""
    return job.lane.tenant, job.lane.type, job.unique.key if job.unique else job.id


def split_repeats(jobs: Sequence[NewJob]) -> tuple[list[NewJob], dict[str, str]]:
    """The jobs without those whose key came earlier in the batch, and whose id stands for which repeat."""
    first: dict[tuple[str, str, str], str] = {}
    kept: list[NewJob] = []
    stands_for: dict[str, str] = {}
    for job in jobs:
        if job.unique is None:
            kept.append(job)
            continue
        standing = first.setdefault(name_of(job), job.id)
        if standing == job.id:
            kept.append(job)
        else:
            stands_for[job.id] = standing
    return kept, stands_for


def answers(jobs: Sequence[NewJob], stands_for: dict[str, str], existing: dict[str, str]) -> list[Enqueued]:
    """What each submission became, in order: `existing` maps an id to the stored job that already had its key."""
    replies = []
    for job in jobs:
        kept = stands_for.get(job.id, job.id)
        stored = existing.get(kept, kept)
        replies.append(Enqueued(stored, stored != job.id))
    return replies
