"""`fairlead retry-preview`: when a job that fails again and again would be tried."""

import asyncio
import math
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlead.cli.loading import Database, Json, load_app, opened, settings_for
from fairlead.cli.output import cell, plain, show, show_json, table
from fairlead.config import Settings
from fairlead.core.durations import humanize, seconds
from fairlead.core.jobs.failure import FailureClass, Policies
from fairlead.core.jobs.pools import Pools, TypeTerms, terms_in
from fairlead.core.jobs.retry import Retry, Step, timeline
from fairlead.core.protection.controls import Controls
from fairlead.handlers.registered import pools_of, registered_type
from fairlead.operate.job_terms import new_terms

WIDTH = 48
MOST_STEPS = 20

TypeName = Annotated[str, typer.Argument(metavar="TYPE", help="The job type.")]
AppOption = Annotated[
    str | None,
    typer.Option(
        "--app", metavar="MODULE:APP", help="Read the type from your code, not the database; pools are as built in."
    ),
]


def retry_preview(
    type_name: TypeName, app_path: AppOption = None, database: Database = None, as_json: Json = False
) -> None:
    """Show when the attempts of a job would start, for each class of failures, if each attempt failed at once.

    What the type does not declare follows from the pool that its new jobs go to, as it is set now.
    """
    terms = _declared(app_path, type_name) if app_path else asyncio.run(_registered(settings_for(database), type_name))
    if as_json:
        show_json({"type": type_name, "timeout": terms.timeout, "classes": document_of(terms.policies)})
    else:
        show(f"{plain(type_name)}: attempts, if each failed at once; the scale is logarithmic", wrap=False)
        show_terms(terms)


def document_of(policies: Policies) -> dict[str, Any]:
    """The attempts of each class of failures, in JSON."""
    return {failure.value: _document(policies.of(failure)) for failure in FailureClass}


def _declared(app_path: str, type_name: str) -> TypeTerms:
    spec = load_app(app_path).registry[type_name]
    return terms_in(Pools(Controls()).get(spec.pool), spec.timeout, spec.policies, spec.usual_retry)


async def _registered(settings: Settings, type_name: str) -> TypeTerms:
    async with opened(settings) as client:
        return new_terms(await registered_type(client.store, type_name), await pools_of(client.store))


def _document(policy: Retry) -> dict[str, Any]:
    return {"policy": policy.stored(), "attempts": [step._asdict() for step in timeline(policy)]}


def show_terms(terms: TypeTerms) -> None:
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
    listing = table(attempt=True, earliest=True, expected=True, latest=True, timeline=True)
    for step in steps[:MOST_STEPS]:
        times = (step.earliest, step.expected, step.latest)
        listing.add_row(cell(step.attempt), *(cell(_after(time)) for time in times), cell(_bar(step, end), "cyan"))
    show(listing)
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
