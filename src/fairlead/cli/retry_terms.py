"""Prints when the attempts of a job would start, for each class of failure."""

import math
from collections.abc import Sequence

from rich.text import Text

from fairlead.cli.output import cell, listing, show
from fairlead.core.durations import humanize, seconds
from fairlead.core.jobs.failure import FailureClass
from fairlead.core.jobs.pools import TypeTerms
from fairlead.core.jobs.retry import Retry, Step, timeline

WIDTH = 48
MOST_STEPS = 20


def print_terms(terms: TypeTerms) -> None:
    """Print all classes on one scale, so that they can be compared."""
    show("a run is never stopped" if terms.timeout is None else f"a run is stopped after {humanize(terms.timeout)}")
    policies = terms.policies
    timelines = {failure: timeline(policies.of(failure)) for failure in FailureClass}
    end = max(step.latest for steps in timelines.values() for step in steps[:MOST_STEPS])
    for failure, steps in timelines.items():
        show(Text(f"\n{failure.value}", "bold"), _summary(failure, policies.of(failure)), wrap=False)
        if len(steps) > 1:
            _print_steps(steps, end)


def _summary(failure: FailureClass, policy: Retry) -> str:
    if failure is FailureClass.CRASH:
        return f"runs again at once, no attempt is used up; dead after {policy.attempts} lost workers"
    if policy.attempts == 1:
        return "is not retried"
    age = (
        "" if policy.max_age is None else f", none later than {humanize(seconds(policy.max_age))} after the submission"
    )
    function = " (by a function, shown as the default list)" if policy.backoff == "custom" else ""
    return f"{policy.attempts} attempts, backoff {policy.kind}{function}, jitter {policy.jitter}{age}"


def _print_steps(steps: Sequence[Step], end: float) -> None:
    listing(
        steps[:MOST_STEPS],
        {
            "attempt": lambda step: step.attempt,
            "earliest": lambda step: _after(step.earliest),
            "expected": lambda step: _after(step.expected),
            "latest": lambda step: _after(step.latest),
            "timeline": lambda step: cell(_bar(step, end), "cyan"),
        },
        none="",
    )
    if len(steps) > MOST_STEPS:
        last = steps[-1]
        show(f"… and {len(steps) - MOST_STEPS} more, the last at {_after(last.earliest)} to {_after(last.latest)}")


def _after(time: float) -> str:
    return "at once" if time == 0 else f"+{humanize(time)}"


def _bar(step: Step, end: float) -> str:
    """From the earliest to the latest start, with a mark at the expected one."""
    earliest, expected, latest = (_place(time, end) for time in step[1:])
    bar = " " * earliest + "─" * (latest - earliest + 1)
    return f"{bar[:expected]}●{bar[expected + 1 :]}"


def _place(time: float, end: float) -> int:
    return round((WIDTH - 1) * math.log1p(time) / math.log1p(end)) if end > 0 else 0
