"""When the attempts of a job would start if each of them failed at once."""

from typing import NamedTuple

from fairlead.core.durations import seconds
from fairlead.core.retry import Retry, delay_bounds


class Step(NamedTuple):
    """An attempt, and when it starts: seconds since the submission."""

    attempt: int
    earliest: float
    expected: float
    latest: float


def timeline(policy: Retry) -> list[Step]:
    """All attempts that a policy allows; one that can only start after its `max_age` is not among them."""
    limit = float("inf") if policy.max_age is None else seconds(policy.max_age)
    steps = [Step(1, 0.0, 0.0, 0.0)]
    for attempt in range(1, policy.attempts):
        shortest, longest = delay_bounds(policy, attempt)
        _, earliest, expected, latest = steps[-1]
        if earliest + shortest > limit:
            break
        middle = expected + (shortest + longest) / 2
        steps.append(Step(attempt + 1, earliest + shortest, min(middle, limit), min(latest + longest, limit)))
    return steps
